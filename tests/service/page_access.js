// What test_page_access.py asks the page. A function that judges returns a list of what is wrong.

function shown(element) {
    const box = element.getBoundingClientRect();
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
        && box.width > 1 && box.height > 1;
}

function nameOf(element) {
    const text = (element.textContent || element.id || '').trim().slice(0, 40);
    return `${element.tagName.toLowerCase()}.${element.getAttribute('class') || ''} "${text}"`;
}

// ---------------------------------------------------------------- contrast

function parts(color) {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
}

function over(top, below) {
    const mix = (name) => top[name] * top.a + below[name] * (1 - top.a);
    return { r: mix('r'), g: mix('g'), b: mix('b'), a: 1 };
}

function luminance({ r, g, b }) {
    const [x, y, z] = [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
}

function behind(element) {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
        const color = parts(getComputedStyle(e).backgroundColor);
        if (color.a > 0) layers.unshift(color);
        if (color.a === 1) break;
    }
    return layers.reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
}

// Shapes of a picture that lie behind a text of it.
function behindInPicture(text) {
    const picture = text.closest('svg');
    const box = text.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    let color = behind(picture);
    for (const shape of picture.querySelectorAll('rect, circle')) {
        const style = getComputedStyle(shape);
        const at = shape.getBoundingClientRect();
        if (style.fill === 'none' || x < at.left || x > at.right || y < at.top
            || y > at.bottom) continue;
        color = over({ ...parts(style.fill), a: Number(style.fillOpacity) }, color);
    }
    return color;
}

function lowContrast() {
    const wrong = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !shown(element)
            || element.closest('option, noscript, .quiet, :disabled, title, desc')) continue;
        const style = getComputedStyle(element);
        const inPicture = element.closest('svg');
        const ground = inPicture ? behindInPicture(element) : behind(element);
        const ink = over(parts(inPicture ? style.fill : style.color), ground);
        const ratio = contrast(ink, ground);
        if (ratio < 4.5) wrong.push(`${nameOf(element)}: ${ratio.toFixed(2)}`);
    }
    const fields = document.querySelectorAll('input[type=text], input[type=password], select');
    for (const field of fields) {
        const ratio = contrast(parts(getComputedStyle(field).borderTopColor),
            behind(field.parentElement));
        if (shown(field) && ratio < 3) wrong.push(`border of ${nameOf(field)}: ${ratio}`);
    }
    return wrong;
}

// ---------------------------------------------------------------- structure

function wrongStructure() {
    const wrong = [];
    const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(shown)
        .map((heading) => Number(heading.tagName[1]));
    if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) {
        wrong.push(`headings: ${levels}`);
    }
    levels.forEach((level, i) => {
        if (i > 0 && level > levels[i - 1] + 1) wrong.push(`h${level} after h${levels[i - 1]}`);
    });
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`two of #${id}`);
    const references = ['aria-labelledby', 'aria-describedby', 'for'];
    for (const element of document.querySelectorAll(references.map((name) => `[${name}]`))) {
        for (const name of references) {
            for (const id of (element.getAttribute(name) || '').split(' ').filter(Boolean)) {
                if (!ids.includes(id)) wrong.push(`${name} of ${nameOf(element)}: no #${id}`);
            }
        }
    }
    for (const element of document.querySelectorAll('button, .button, summary, select, input')) {
        const box = element.getBoundingClientRect();
        const row = element.parentElement.getBoundingClientRect();
        const target = element.type === 'radio' ? row : box;
        if (shown(element) && Math.min(target.width, target.height) < 24) {
            wrong.push(`too small: ${nameOf(element)}`);
        }
    }
    for (const element of document.querySelectorAll('[tabindex]')) {
        if (element.tabIndex > 0) wrong.push(`tabindex of ${nameOf(element)}`);
    }
    return wrong;
}

function wide() {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? [`${scrollWidth} > ${clientWidth}`] : [];
}

function moving() {
    return [...document.querySelectorAll('*')].filter((element) => {
        const style = getComputedStyle(element);
        return [style.transitionDuration, style.animationDuration].some((times) =>
            times.split(',').some((time) => parseFloat(time) > 0));
    }).map(nameOf);
}

// ---------------------------------------------------------------- focus

// What Tab stops at, in the order of the document. Of radio buttons, it is the chosen one.
function stops() {
    return [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
        .filter((element) => !element.disabled && element.checkVisibility()
            && !(element.type === 'radio' && !element.checked)).map(nameOf);
}

function focusNow() {
    const element = document.activeElement;
    if (element === document.body || element === null) return null;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const ring = parts(style.outlineColor);
    return { name: nameOf(element),
        ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
            && contrast(ring, behind(element.parentElement)) >= 3,
        seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth };
}

/* A disk in memory that fails (faulty_vfs.h). */
#define _XOPEN_SOURCE 700
#include "store/scenes/faulty_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILES 6
#define NAME_BYTES 64
#define SECTOR_BYTES 512 /* what is kept or lost as a whole */

/* A write, or a truncation to `at` bytes (bytes is NULL), that was not synced yet. */
typedef struct pending {
    size_t at, n_bytes;
    unsigned char *bytes;
} pending;

typedef struct content {
    bool is_there;
    unsigned char *bytes;
    size_t n_bytes;
} content;

typedef struct disk_file {
    char name[NAME_BYTES];
    content seen, kept; /* by programs; for good */
    pending *list;
    size_t n_list, capacity;
} disk_file;

typedef struct open_file {
    sqlite3_file base;
    disk_file *file;
} open_file;

void *(*disk_realloc)(void *memory, size_t n_bytes) = realloc;

static disk_file files[MAX_FILES];
static sqlite3_vfs *real, disk;
static unsigned n_temporary;

static struct {
    bool armed, met;
    disk_fault fault;
    unsigned kinds, met_kind;
    long left;
    uint64_t seed;
} plan;

static const char *meets_faults = ""; /* how the names of files begin that do */
static bool is_dark;
static uint64_t random_state;

static struct {
    unsigned kinds;
    void (*after)(void *context);
    void *context;
} watcher;

static uint64_t draw(void) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void *need(void *memory) {
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

/* ---------------------------------------------------------------- content */

static void resize(content *c, size_t n_bytes) {
    c->bytes = need(disk_realloc(c->bytes, n_bytes + 1));
    if (n_bytes > c->n_bytes)
        memset(c->bytes + c->n_bytes, 0, n_bytes - c->n_bytes);
    c->n_bytes = n_bytes;
}

static void put(content *c, size_t at, const unsigned char *bytes, size_t n_bytes) {
    if (at + n_bytes > c->n_bytes)
        resize(c, at + n_bytes);
    memcpy(c->bytes + at, bytes, n_bytes);
}

static void copy(content *to, const content *from) {
    to->is_there = from->is_there;
    resize(to, from->n_bytes);
    if (from->n_bytes != 0)
        memcpy(to->bytes, from->bytes, from->n_bytes);
}

static void note(disk_file *f, size_t at, const void *bytes, size_t n_bytes) {
    if (f->n_list == f->capacity) {
        f->capacity = 2 * f->capacity + 16;
        f->list = need(disk_realloc(f->list, f->capacity * sizeof *f->list));
    }
    pending *const p = &f->list[f->n_list++];
    *p = (pending){.at = at, .n_bytes = n_bytes};
    if (bytes != NULL) {
        p->bytes = need(disk_realloc(NULL, n_bytes + 1));
        memcpy(p->bytes, bytes, n_bytes);
    }
}

static void drop_list(disk_file *f) {
    for (size_t i = 0; i < f->n_list; i++)
        free(f->list[i].bytes);
    f->n_list = 0;
}

static void settle(disk_file *f) {
    copy(&f->kept, &f->seen);
    drop_list(f);
}

/* ---------------------------------------------------------------- files */

static const char *last_part(const char *path) {
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The file of this name; a place for it, if `makes`. */
static disk_file *find(const char *path, bool makes) {
    const char *const name = last_part(path);
    disk_file *place = NULL;
    for (size_t i = 0; i < MAX_FILES; i++) {
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
        if (files[i].name[0] == '\0' && place == NULL)
            place = &files[i];
    }
    if (!makes)
        return NULL;
    need(place);
    (void)snprintf(place->name, sizeof place->name, "%s", name);
    return place;
}

void disk_clear(void) {
    for (size_t i = 0; i < MAX_FILES; i++) {
        drop_list(&files[i]);
        free(files[i].list);
        free(files[i].seen.bytes);
        free(files[i].kept.bytes);
        files[i] = (disk_file){.name = ""};
    }
    is_dark = false;
}

void disk_put(const char *name, const void *bytes, size_t n_bytes) {
    disk_file *const f = find(name, true);
    f->seen.is_there = true;
    resize(&f->seen, n_bytes);
    if (n_bytes != 0)
        memcpy(f->seen.bytes, bytes, n_bytes);
    settle(f);
}

const unsigned char *disk_get(const char *name, size_t *n_bytes) {
    const disk_file *const f = find(name, false);
    if (f == NULL || !f->seen.is_there)
        return NULL;
    *n_bytes = f->seen.n_bytes;
    return f->seen.bytes;
}

bool disk_save(const char *folder) {
    bool done = true;
    for (size_t i = 0; i < MAX_FILES; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%.63s", folder, files[i].name);
        if (files[i].name[0] == '\0' || !files[i].seen.is_there)
            continue;
        FILE *const file = fopen(path, "wb");
        const size_t n = files[i].seen.n_bytes;
        done = done && file != NULL && (n == 0 || fwrite(files[i].seen.bytes, 1, n, file) == n);
        done = file != NULL && fclose(file) == 0 && done;
    }
    return done;
}

static void take_real_file(disk_file *f, const char *path) {
    FILE *const file = fopen(path, "rb");
    if (file == NULL)
        return;
    unsigned char bytes[4096];
    size_t n, at = 0;
    f->seen.is_there = true;
    while ((n = fread(bytes, 1, sizeof bytes, file)) != 0) {
        put(&f->seen, at, bytes, n);
        at += n;
    }
    (void)fclose(file);
    settle(f);
}

/* ---------------------------------------------------------------- faults */

void disk_arm(disk_fault fault, unsigned kinds, long n, uint64_t seed) {
    plan.armed = true;
    plan.met = false;
    plan.fault = fault;
    plan.kinds = kinds;
    plan.left = n;
    plan.seed = seed;
    random_state = seed;
}

void disk_spare_others(const char *beginning) {
    meets_faults = beginning;
}

bool disk_disarm(unsigned *kind) {
    plan.armed = false;
    if (kind != NULL)
        *kind = plan.met_kind;
    return plan.met;
}

/* What remains of a file when the power goes. */
static void lose(disk_file *f, uint64_t seed) {
    const uint64_t share = seed == 0 ? 0 : seed == 1 ? 256 : 32 + draw() % 192;
    const size_t old_bytes = f->kept.n_bytes;
    const bool garbage = seed > 1 && draw() % 4 == 0;
    if (f->seen.is_there != f->kept.is_there && draw() % 256 < share)
        f->kept.is_there = f->seen.is_there;
    for (size_t i = 0; i < f->n_list; i++) {
        const pending *const p = &f->list[i];
        if (p->bytes == NULL && draw() % 256 < share)
            resize(&f->kept, p->at);
        for (size_t at = 0; p->bytes != NULL && at < p->n_bytes;) {
            const size_t place = p->at + at;
            size_t n = SECTOR_BYTES - place % SECTOR_BYTES;
            n = n < p->n_bytes - at ? n : p->n_bytes - at;
            if (draw() % 256 < share)
                put(&f->kept, place, p->bytes + at, n);
            else if (garbage && place >= old_bytes) /* the file grew, what was to be in it did not
                                                       arrive */
                for (size_t b = 0; b < n; b++)
                    put(&f->kept, place + b, &(unsigned char){(unsigned char)draw()}, 1);
            at += n;
        }
    }
    if (!f->kept.is_there)
        resize(&f->kept, 0);
    drop_list(f);
    copy(&f->seen, &f->kept);
}

void disk_cut_power(uint64_t seed) {
    if (is_dark)
        return;
    random_state = seed;
    for (size_t i = 0; i < MAX_FILES; i++)
        if (files[i].name[0] != '\0')
            lose(&files[i], seed);
    is_dark = true;
}

void disk_reboot(void) {
    is_dark = false;
}

/* Counts an operation. Whether it is to fail; if the power is to go, it may be done first. */
static bool fails(unsigned kind, const char *name) {
    if (is_dark)
        return true;
    if (!plan.armed || (plan.kinds & kind) == 0 ||
        strncmp(name, meets_faults, strlen(meets_faults)) != 0)
        return false;
    if (plan.met)
        return plan.fault == DISK_BROKEN || plan.fault == DISK_FULL;
    if (--plan.left > 0)
        return false;
    plan.met = true;
    plan.met_kind = kind;
    return true;
}

static bool takes_power(void) {
    return plan.armed && plan.met && plan.fault == DISK_POWER && !is_dark;
}

static void tell(unsigned kind) {
    if ((watcher.kinds & kind) != 0)
        watcher.after(watcher.context);
}

void disk_watch(unsigned kinds, void (*after)(void *context), void *context) {
    watcher.kinds = after != NULL ? kinds : 0;
    watcher.after = after;
    watcher.context = context;
}

unsigned disk_temporary_files(void) {
    return n_temporary;
}

/* ---------------------------------------------------------------- what SQLite calls */

static disk_file *file_of(sqlite3_file *file) {
    return ((open_file *)file)->file;
}

static int on_close(sqlite3_file *file) {
    (void)file;
    return SQLITE_OK;
}

static int on_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at) {
    const content *const c = &file_of(file)->seen;
    const size_t wanted = (size_t)n, begin = (size_t)at;
    if (fails(DISK_READ, file_of(file)->name))
        return SQLITE_IOERR_READ;
    const size_t there = begin < c->n_bytes ? c->n_bytes - begin : 0;
    const size_t read = there < wanted ? there : wanted;
    memset(to, 0, wanted);
    if (read != 0)
        memcpy(to, c->bytes + begin, read);
    return read == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int on_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at) {
    disk_file *const f = file_of(file);
    if (is_dark)
        return SQLITE_IOERR_WRITE;
    const bool failed = fails(DISK_WRITE, f->name);
    const size_t n_done = !failed || plan.fault == DISK_POWER ? (size_t)n
                          : (plan.left + n) % 2 == 0          ? (size_t)n / 2
                                                              : 0;
    if (n_done != 0) {
        put(&f->seen, (size_t)at, from, n_done);
        note(f, (size_t)at, from, n_done);
    }
    if (takes_power())
        disk_cut_power(plan.seed);
    if (failed)
        return plan.fault == DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    tell(DISK_WRITE);
    return SQLITE_OK;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 n_bytes) {
    disk_file *const f = file_of(file);
    if (is_dark)
        return SQLITE_IOERR_TRUNCATE;
    const bool failed = fails(DISK_TRUNCATE, f->name);
    if (!failed || plan.fault == DISK_POWER) {
        resize(&f->seen, (size_t)n_bytes);
        note(f, (size_t)n_bytes, NULL, 0);
    }
    if (takes_power())
        disk_cut_power(plan.seed);
    tell(DISK_TRUNCATE);
    return failed ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

/* A sync that the power does not outlast has done nothing yet. */
static int on_sync(sqlite3_file *file, int flags) {
    (void)flags;
    const bool failed = fails(DISK_SYNC, file_of(file)->name);
    if (takes_power())
        disk_cut_power(plan.seed);
    if (failed)
        return SQLITE_IOERR_FSYNC;
    settle(file_of(file));
    tell(DISK_SYNC);
    return SQLITE_OK;
}

static int on_size(sqlite3_file *file, sqlite3_int64 *n_bytes) {
    *n_bytes = (sqlite3_int64)file_of(file)->seen.n_bytes;
    return is_dark ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int on_lock(sqlite3_file *file, int level) {
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static int on_check_lock(sqlite3_file *file, int *taken) {
    (void)file;
    *taken = 0;
    return SQLITE_OK;
}

static int on_control(sqlite3_file *file, int what, void *argument) {
    (void)file;
    (void)what;
    (void)argument;
    return SQLITE_NOTFOUND;
}

/* As the real one on Linux has it. */
static int on_sector_size(sqlite3_file *file) {
    (void)file;
    return 4096;
}

static int on_traits(sqlite3_file *file) {
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_lock,
    .xCheckReservedLock = on_check_lock,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_traits,
};

static int on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                   int *out_flags) {
    (void)vfs;
    file->pMethods = NULL;
    if (path == NULL) {
        n_temporary++;
        return SQLITE_CANTOPEN;
    }
    const bool failed = fails(DISK_OPEN, last_part(path));
    if (takes_power())
        disk_cut_power(plan.seed);
    if (failed)
        return SQLITE_CANTOPEN;
    disk_file *const f = find(path, true);
    if (!f->seen.is_there && !f->kept.is_there)
        take_real_file(f, path);
    if (!f->seen.is_there && (flags & SQLITE_OPEN_CREATE) == 0)
        return SQLITE_CANTOPEN;
    f->seen.is_there = true;
    ((open_file *)file)->file = f;
    file->pMethods = &methods;
    if (out_flags != NULL)
        *out_flags = flags;
    tell(DISK_OPEN);
    return SQLITE_OK;
}

static int on_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    (void)vfs;
    disk_file *const f = find(path, false);
    if (is_dark)
        return SQLITE_IOERR_DELETE;
    const bool failed = fails(DISK_DELETE, last_part(path));
    if (f == NULL || !f->seen.is_there)
        return SQLITE_IOERR_DELETE_NOENT;
    if (!failed || plan.fault == DISK_POWER) {
        f->seen.is_there = false;
        resize(&f->seen, 0);
        note(f, 0, NULL, 0);
    }
    if (takes_power())
        disk_cut_power(plan.seed);
    if (failed)
        return SQLITE_IOERR_DELETE;
    if (syncs != 0)
        settle(f);
    tell(DISK_DELETE);
    return SQLITE_OK;
}

static int on_access(sqlite3_vfs *vfs, const char *path, int flags, int *answer) {
    (void)vfs;
    (void)flags;
    const disk_file *const f = find(path, false);
    *answer = f != NULL && f->seen.is_there && f->seen.n_bytes != 0;
    if (f != NULL && f->seen.is_there && flags != SQLITE_ACCESS_EXISTS)
        *answer = 1;
    return is_dark ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

/* ---------------------------------------------------------------- names in the real folder */

static bool is_used(void) {
    return real != NULL && sqlite3_vfs_find(NULL) == &disk;
}

/* A name is on the disk for good when its folder was synced, which follows. */
int link(const char *from, const char *to) {
    const int code = linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    disk_file *const f = code == 0 && is_used() ? find(from, false) : NULL;
    if (f != NULL && f->seen.is_there && !is_dark) {
        disk_file *const named = find(to, true);
        copy(&named->seen, &f->seen);
        copy(&named->kept, &f->kept);
    }
    return code;
}

int unlink(const char *path) {
    /* Only what is made by a store of its own: a test may empty the real folder meanwhile. */
    disk_file *const f =
        is_used() && strstr(path, ".efface-new") != NULL ? find(path, false) : NULL;
    if (f != NULL && !is_dark) {
        f->seen.is_there = f->kept.is_there = false;
        resize(&f->seen, 0);
        settle(f);
    }
    return unlinkat(AT_FDCWD, path, 0);
}

void disk_use(void) {
    if (real == NULL) {
        real = need(sqlite3_vfs_find(NULL));
        disk = *real;
        disk.zName = "a disk in memory";
        disk.pNext = NULL;
        disk.szOsFile = (int)sizeof(open_file);
        disk.xOpen = on_open;
        disk.xDelete = on_delete;
        disk.xAccess = on_access;
    }
    (void)sqlite3_vfs_register(&disk, 1);
}

void disk_leave(void) {
    (void)sqlite3_vfs_register(need(real), 1);
}

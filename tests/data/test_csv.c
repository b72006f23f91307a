/* The CSV loader: records, numbers, ids and what can be wrong with each. Headers and columns have a
 * test of their own. */
#define _POSIX_C_SOURCE 200809L

#include "csv_scene.h"

#include "data/texts/number.h"

#include <locale.h>
#include <stdint.h>

/* ---------------------------------------------------------------- records */

static void test_records(void **state) {
    (void)state;
    const double four[] = {1, 2, 3, 4};
    const char *const same[] = {
        "1,2\n3,4\n",
        "1,2\n3,4",
        "1,2\r\n3,4\r\n",
        "1,2\r3,4\r",
        "1,2\r3,4",
        "1;2\n3;4\n",
        "1\t2\n3\t4\n",
        " 1 , 2 \n3 ,4\n",
        "1,2\n3,4\n\n\r\n  \n\r",
        ("\xEF\xBB\xBF"
         "1,2\n3,4\n"),
        "\"1\",2\n3,\"4\"\n",
        "\"1\" , \"2\"\n \"3\",\"4\"",
        "\" 1 \",2\n3,\"\t4\t\"\n",
        "x,y\n1,2\n3,4\n",
        "\"x\",\"y\"\r\n1,2\r\n3,4\r\n",
        "\xEF\xBB\xBF\"x\",y\n1,2\n3,4\n",
        "\"a \"\"big\"\"\nname\",y\n1,2\n3,4\n",
        "x,y\n+1,2.\n3e0,.4e+1\n",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        expect_values(same[i], 2, 2, four);
    expect_values("1\n2\n3\n4\n", 4, 1, four);
    expect_values("7", 1, 1, (const double[]){7});
    expect_values("1,2,3,4", 1, 4, four);
    /* Most of: two semicolons, one comma; those in quotes do not count. */
    expect_values("a;b,c;d\n1;2;3\n", 1, 3, four);
    expect_values("\";;;;\",b\n1,2\n", 1, 2, four);
    expect_values("a,b;c\td,e\n1,2,3\n", 1, 3, four);
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.delimiter = ' ';
    efface_data_free(expect("1 2\n3 4\n", &options, 2, 2, four));
    options.delimiter = '|';
    efface_data_free(expect("1|2\n\"3\" | 4\n", &options, 2, 2, four));
    options.delimiter = ';';
    efface_data_free(expect("a,b;c,d\n1;2\n3;4\n", &options, 2, 2, four));
}

static void test_bad_records(void **state) {
    (void)state;
    const efface_status format = EFFACE_E_FORMAT;
    bad("1,2\n3\n", NULL, format, 2, 0, "1 fields, but the first line has 2");
    bad("1,2\n3,4,5\n", NULL, format, 2, 0, "3 fields, but the first line has 2");
    bad("1,2\n3,4,\n", NULL, format, 2, 0, "3 fields, but the first line has 2");
    bad("x,y,z\n1,2\n", NULL, format, 2, 0, "2 fields, but the first line has 3");
    bad("1,2\n\n3,4\n", NULL, format, 2, 0, "blank");
    bad("1,2\r\n \r\n\r\n3,4\r\n", NULL, format, 2, 0, "blank");
    bad("\n1,2\n", NULL, format, 1, 0, "blank");
    bad("x,y\n\n1,2\n", NULL, format, 2, 0, "blank");
    bad("1,2\n3,\"4\n5,6\n", NULL, format, 2, 2, "never closed");
    bad("1,2\n3,\"4\"5\n", NULL, format, 2, 2, "closing quote");
    bad("1,2\n3,4\"5\"\n", NULL, format, 2, 2, "quote inside");
    bad("\n\n\n", NULL, format, 0, 0, "no rows");
    bad("x,y\n", NULL, format, 0, 0, "no rows");
    bad("x,y\n\n\n", NULL, format, 0, 0, "no rows");
    bad("\xEF\xBB\xBF", NULL, format, 0, 0, "no rows");
    load_bad(BYTES("1,2\n3,\0\n"), NULL, format, 2, 2, "zero byte");
    load_bad(BYTES("1,2\n3,\"\0\"\n"), NULL, format, 2, 2, "zero byte");
    /* Line numbers: each kind of line end counts once, in quotes as well. */
    bad("x,y\r\n1,2\n3,4\rx,6\n", NULL, format, 4, 1, "not a number");
    bad("\"x\r\n\n\ry\",z\n1,2\n3,?\n", NULL, format, 6, 2, "not a number");
    bad("a;b\n1;2,5\n", NULL, format, 2, 2, "separated by \";\"");
    bad("a\tb\n1\t2,5\n", NULL, format, 2, 2, "separated by tabs");
    /* Long fields are shown in part, by whole characters; what moves a cursor is not shown. */
    const char *const u = "\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC";
    char text[128];
    (void)snprintf(text, sizeof text, "a,b\n1,-%s%s%s\n", u, u, u);
    bad(text, NULL, format, 2, 2, "\xC3\xBC...\" is not");
    (void)snprintf(text, sizeof text, "a,b\n1,%s%s%s\n", u, u, u);
    bad(text, NULL, format, 2, 2, "\xC3\xBC...\" is not");
    bad("a,b\n1,\x1B[2J\x7F\n", NULL, format, 2, 2, "\"\\x1B[2J\\x7F\" is not");
}

/* ---------------------------------------------------------------- numbers */

static void test_bad_numbers(void **state) {
    (void)state;
    const char *const none[] = {"x",
                                "1x",
                                "0x10",
                                "1e",
                                "1e+",
                                "e5",
                                ".",
                                "-",
                                "+",
                                "--1",
                                "1.2.3",
                                "1 2",
                                "1e5.0",
                                "1,5",
                                "1_0",
                                "1d5",
                                "nanx",
                                "infin",
                                "NA",
                                "1e5e5",
                                "-.e1",
                                ("\xC2\xA0"
                                 "1"),
                                "#N/A",
                                "True",
                                "i-nf",
                                "1.#INF"};
    char text[64];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        (void)snprintf(text, sizeof text, "1;2\n3;%s\n", none[i]);
        bad(text, NULL, EFFACE_E_FORMAT, 2, 2, "is not a number");
    }
    const char *const not_finite[] = {"nan",  "NaN",      "-nan",      "inf",  "-Inf",
                                      "+INF", "infinity", "-INFINITY", " nan "};
    for (size_t i = 0; i < sizeof not_finite / sizeof *not_finite; i++) {
        (void)snprintf(text, sizeof text, "1;2\n3;%s\n", not_finite[i]);
        bad(text, NULL, EFFACE_E_FORMAT, 2, 2, "not a finite number");
        /* In the first line they are numbers too, and do not make it a header. */
        (void)snprintf(text, sizeof text, "3;%s\n1;2\n", not_finite[i]);
        bad(text, NULL, EFFACE_E_FORMAT, 1, 2, "not a finite number");
    }
    const char *const large[] = {"1e999",
                                 "-1e999",
                                 "8.6e37",
                                 "1e40",
                                 "1e99999999999999999999",
                                 "100000000000000000000000000000000000000",
                                 "8.507060e37"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        (void)snprintf(text, sizeof text, "1;2\n%s;3\n", large[i]);
        bad(text, NULL, EFFACE_E_LIMIT, 2, 1, "2^126");
    }
    bad("1,2\n3,\n", NULL, EFFACE_E_FORMAT, 2, 2, "empty");
    bad("1,2\n3,\"\"\n", NULL, EFFACE_E_FORMAT, 2, 2, "empty");
    bad("1,2\n3,  \n", NULL, EFFACE_E_FORMAT, 2, 2, "empty");
    bad("x\n\"\"\n1\n", NULL, EFFACE_E_FORMAT, 2, 1, "empty");
    expect_values("0e99999999999999999999,1e-99999999999999999999,-0,1e-400\n", 1, 4,
                  (const double[]){0, 0, 0, 0});
    expect_values("8.507059173023462e37,-8.507059173023462e37,1e-45,3.4e-46\n", 1, 4,
                  (const double[]){0x1p126, -0x1p126, 0x1p-149, 0});
}

/* The parser against the C library's, which reads the C locale here. */
static void assert_like_strtod(const char *text) {
    double value = 0;
    const double expected = strtod(text, NULL);
    const ef_parsed result = ef_number_parse(text, strlen(text), &value);
    if (result == EF_NUMBER_TOO_LARGE) {
        if (!(expected >= 1e40 || expected <= -1e40))
            fail_msg("%s is not too large", text);
        return;
    }
    if (result != EF_NUMBER_OK || memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("%s: %a, expected %a", text, value, expected);
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static void test_number_rounding(void **state) {
    (void)state;
    const char *const hard[] = {
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.0000000000000000000000001",
        "1.7976931348623157e-300",
        "2.2250738585072011e-308",
        "4.9e-324",
        "2.4e-324",
        "0.1",
        "0.30000000000000004",
        "123456789012345678",
        "1234567890123456789",
        "9999999999999999999",
        "99999999999999999999",
        "18446744073709551615",
        "18446744073709551616",
        "1e22",
        "1e23",
        "9007199254740991e22",
        "9007199254740993e23",
        "8.5070591730234615865843651857942052864e37",
        "1.00000000000000011102230246251565404",
        "1.00000000000000011102230246251565405",
        "1.00000000000000011102230246251565403",
        "-0",
        "0",
        "00000000000000000000000000001",
        "0.00000000000000000000000000001",
        "1000000000000000000000000000000e-30",
        "5e-27",
        "3e27",
        "1e-28",
        "1e28",
    };
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        assert_like_strtod(hard[i]);
    uint64_t seed = 20191105;
    char text[1200];
    for (int i = 0; i < 300000; i++) {
        const uint64_t a = next_random(&seed), b = next_random(&seed);
        double x;
        switch (i % 6) {
        case 0: /* any double, shortest and longer than it need be */
            memcpy(&x, &a, sizeof x);
            if (!(x < 1e39 && x > -1e39))
                continue;
            (void)snprintf(text, sizeof text, "%.*g", 15 + (int)(b % 8), x);
            break;
        case 1: /* what numpy.savetxt writes */
            x = (double)(int64_t)a * 0x1p-60;
            (void)snprintf(text, sizeof text, "%.18e", x);
            break;
        case 2:
            (void)snprintf(text, sizeof text, "%llue%d", (unsigned long long)a >> b % 64,
                           (int)(b >> 8) % 30 - 29 + (int)(b >> 20 & 31));
            break;
        case 3: { /* a tie between two doubles, or a little beside it */
            const char *const ends[] = {"499", "500", "501"};
            (void)snprintf(text, sizeof text, "%llu.%s", (unsigned long long)(a >> 11 | 1ull << 52),
                           ends[b % 3]);
            break;
        }
        case 4:
            (void)snprintf(text, sizeof text, "%lld.%llu", (long long)a >> b % 60,
                           (unsigned long long)next_random(&seed));
            break;
        default:
            (void)snprintf(text, sizeof text, "-%llu.%06u", (unsigned long long)(a % 100000),
                           (unsigned)(b % 1000000));
            break;
        }
        assert_like_strtod(text);
    }
    /* More digits than are kept: a tie, decided by the last of a thousand. */
    const size_t n = (size_t)snprintf(text, sizeof text, "9007199254740992.5");
    memset(text + n, '0', 1000);
    text[n + 1000] = '\0';
    assert_like_strtod(text);
    text[n - 18 + 15] = '3';
    assert_like_strtod(text);
    text[n + 999] = '1';
    assert_like_strtod(text);
    text[n - 18 + 15] = '2';
    assert_like_strtod(text);
    /* A point a thousand places away. */
    (void)snprintf(text, sizeof text, "0.%01000d1e1000", 0);
    assert_like_strtod(text);
    (void)snprintf(text, sizeof text, "1%01000de-1000", 0);
    assert_like_strtod(text);
}

static void test_locale(void **state) {
    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
        setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL)
        skip();
    assert_int_equal(*localeconv()->decimal_point, ',');
    const double values[] = {1.5, 0.1234567890123456789, 1.25e-30};
    expect_values("1.5;0.1234567890123456789012345;125e-32\n", 1, 3, values);
    bad("x\n1,5\n", NULL, EFFACE_E_FORMAT, 2, 0, "2 fields");
    (void)setlocale(LC_NUMERIC, "C");
}

/* ---------------------------------------------------------------- options */

static void test_options(void **state) {
    (void)state;
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    const char *const path = write_plain("1,2\n", 4);
    options.version = 0;
    assert_int_equal(load_path(path, &options).status, EFFACE_E_ARGUMENT);
    options = options_of(NULL, NULL, NULL, NULL);
    options.header = (efface_header)3;
    assert_int_equal(load_path(path, &options).status, EFFACE_E_ARGUMENT);
    options = options_of(NULL, NULL, NULL, NULL);
    options.ids = (efface_ids)3;
    assert_int_equal(load_path(path, &options).status, EFFACE_E_ARGUMENT);
    options = options_of(NULL, NULL, NULL, NULL);
    for (const char *sign = "\"\n\r.+-09aezAEZ\x80\xFF"; *sign != '\0'; sign++) {
        options.delimiter = *sign;
        assert_int_equal(load_path(path, &options).status, EFFACE_E_ARGUMENT);
    }
}

/* ---------------------------------------------------------------- ids, owners, weights, labels */

static void test_ids(void **state) {
    (void)state;
    efface_load_options options = options_of("id", NULL, NULL, NULL);
    const double values[] = {1, 2, 3};
    efface_data *data =
        expect("id,x\n18446744073709551615,1\n 70 ,2\n\"0\",3\n", &options, 3, 1, values);
    assert_int_equal(efface_data_row(data, 0).id, UINT64_MAX);
    assert_int_equal(efface_data_row(data, 1).id, 70);
    assert_int_equal(efface_data_row(data, 2).id, 0);
    efface_data_free(data);
    /* Text: trimmed, in quotes too. After a first text a number is text too. */
    const char *const texts = "id,x\n north ,1\n\" sou th\t\",2\n7,3\n";
    options.hash_key[3] = 1;
    data = expect(texts, &options, 3, 1, values);
    assert_int_equal(efface_data_row(data, 0).id, efface_text_id("north", 5, options.hash_key));
    assert_int_equal(efface_data_row(data, 1).id, efface_text_id("sou th", 6, options.hash_key));
    assert_int_equal(efface_data_row(data, 2).id, efface_text_id("7", 1, options.hash_key));
    const uint64_t with_key = efface_data_row(data, 0).id;
    efface_data_free(data);
    options.hash_key[3] = 2;
    data = expect(texts, &options, 3, 1, values);
    assert_int_not_equal(efface_data_row(data, 0).id, with_key);
    efface_data_free(data);
    options.ids = EFFACE_IDS_TEXT;
    data = expect("id,x\n7,1\n8,2\nx,3\n", &options, 3, 1, values);
    assert_int_equal(efface_data_row(data, 0).id, efface_text_id("7", 1, options.hash_key));
    efface_data_free(data);
    /* Without an id column rows are counted, whatever the ids should be. */
    options.id_column = NULL;
    data = expect("x\n1\n2\n3\n", &options, 3, 1, values);
    assert_int_equal(efface_data_row(data, 2).id, 2);
    efface_data_free(data);

    const efface_status format = EFFACE_E_FORMAT;
    options = options_of("id", NULL, NULL, NULL);
    bad("id,x\n7,1\nnorth,2\n", &options, format, 3, 1, "ids as text");
    bad("id,x\n7,1\n-8,2\n", &options, format, 3, 1, "ids as text");
    bad("id,x\n7,1\n8.5,2\n", &options, format, 3, 1, "ids as text");
    bad("id,x\n7,1\n18446744073709551616,2\n", &options, format, 3, 1, "2^64");
    bad("id,x\n18446744073709551616,2\n", &options, format, 2, 1, "2^64");
    bad("id,x\n7,1\n,2\n", &options, format, 3, 1, "id is empty");
    bad("id,x\n\"\",1\n", &options, format, 2, 1, "id is empty");
    options.ids = EFFACE_IDS_NUMBERS;
    bad("id,x\nnorth,1\n", &options, format, 2, 1, "not a whole number");
}

/* The published test vector of SipHash-2-4 with 128 bits: the key is 00 01 .. 0F, the text the
 * first bytes of 00 01 02 ... */
static void test_text_id(void **state) {
    (void)state;
    unsigned char key[EFFACE_HASH_KEY_BYTES];
    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    assert_true(efface_text_id("", 0, key) == 0xE6A825BA047F81A3u);
    assert_true(efface_text_id("\0", 1, key) == 0x44AF996BD8C187DAu);
}

/* Two texts with the same id under the key 0, found by search: 6.8e9 hashes. */
#define TWIN_A "fmhcijdookdjcmkd"
#define TWIN_B "bdipmkpndipjoogn"

static void test_duplicates(void **state) {
    (void)state;
    efface_load_options options = options_of("id", NULL, NULL, NULL);
    const efface_status duplicate = EFFACE_E_DUPLICATE;
    bad("id,x\n7,1\n8,2\n7,3\n9,4\n", &options, duplicate, 4, 0, "same id as row 1");
    /* As a number it would be that of row 2, and it may be somebody else. */
    bad("id,x\n7,1\n8,2\n08,3\n9,4\n", &options, EFFACE_E_FORMAT, 4, 1, "begins with a zero");
    bad("id,x\n0,1\n1,2\n1,3\n", &options, duplicate, 4, 0, "same id as row 2");
    bad("id,x\na,1\n\"b\n\",2\nd,3\n\"b\n\",4\n", &options, duplicate, 6, 0, "same id as row 2");

    assert_int_equal(efface_text_id(TWIN_A, 16, options.hash_key),
                     efface_text_id(TWIN_B, 16, options.hash_key));
    const char *const twins = "id,x\nmore,1\n" TWIN_A ",2\n" TWIN_B ",3\nend,4\n";
    bad(twins, &options, duplicate, 4, 0, "another hash key");
    options.hash_key[0] = 1;
    efface_data_free(expect(twins, &options, 4, 1, (const double[]){1, 2, 3, 4}));
    options = options_of(NULL, "who", NULL, NULL);
    bad("who,x\n" TWIN_A ",2\n" TWIN_B ",3\n", &options, duplicate, 3, 0, "owner");
    options = options_of(NULL, NULL, NULL, "class");
    /* Labels have no key. */
    const char *const classes = "x,class\n2," TWIN_A "\n3," TWIN_B "\n";
    bad(classes, &options, duplicate, 3, 2, "same 64-bit hash as another label");
    options.hash_key[0] = 1;
    bad(classes, &options, duplicate, 3, 2, TWIN_B);

    /* The duplicate is in a later batch than its fellow, and is not the first of it. */
    options = options_of("1", NULL, NULL, NULL);
    const size_t room = 1 << 20;
    for (int text_ids = 0; text_ids < 2; text_ids++) {
        char *const text = malloc(room);
        assert_non_null(text);
        size_t n = (size_t)snprintf(text, room, "id,x\n");
        for (int i = 0; i < 5000; i++)
            n += (size_t)snprintf(text + n, room - n, "%s%d,1\n", text_ids ? "n" : "",
                                  i == 4321 ? 1234 : i + 10);
        const outcome o = load_memory(text, n, 1 << 20, &options);
        assert_int_equal(o.status, EFFACE_E_DUPLICATE);
        assert_int_equal(o.error.line, 4323);
        assert_non_null(strstr(o.error.message, "same id as row 1225"));
        free(text);
    }
}

static void test_owners(void **state) {
    (void)state;
    efface_load_options options = options_of(NULL, "who", NULL, NULL);
    const double values[] = {1, 2, 3};
    efface_data *data = expect("x,who\n1,\n2,18446744073709551614\n3,7\n", &options, 3, 1, values);
    assert_true(efface_data_row(data, 0).owner == EFFACE_NO_OWNER);
    assert_true(efface_data_row(data, 1).owner == UINT64_MAX - 1);
    assert_int_equal(efface_data_row(data, 2).owner, 7);
    efface_data_free(data);
    data = expect("x,who\n1,ann\n2,7\n3,ann\n", &options, 3, 1, values);
    assert_int_equal(efface_data_row(data, 0).owner, efface_text_id("ann", 3, options.hash_key));
    assert_int_equal(efface_data_row(data, 1).owner, efface_text_id("7", 1, options.hash_key));
    assert_int_equal(efface_data_row(data, 2).owner, efface_text_id("ann", 3, options.hash_key));
    efface_data_free(data);
    data = expect("x,who\n1,ann\n2,\n3,  \n", &options, 3, 1, values);
    assert_int_equal(efface_data_row(data, 0).owner, efface_text_id("ann", 3, options.hash_key));
    assert_true(efface_data_row(data, 1).owner == EFFACE_NO_OWNER);
    assert_true(efface_data_row(data, 2).owner == EFFACE_NO_OWNER);
    efface_data_free(data);
    /* 0 is an owner, and nobody else: the row without one stays. */
    data = expect("x,who\n1,0\n2,\n3,\"\"\n", &options, 3, 1, values);
    assert_int_equal(efface_data_row(data, 0).owner, 0);
    assert_true(efface_data_row(data, 1).owner == EFFACE_NO_OWNER);
    assert_true(efface_data_row(data, 2).owner == EFFACE_NO_OWNER);
    efface_data_free(data);
    bad("x,who\n1,\n2,18446744073709551615\n", &options, EFFACE_E_FORMAT, 3, 2, "without an owner");
    bad("x,who\n1,\n2,7\n3,ann\n", &options, EFFACE_E_FORMAT, 4, 2, "first owner");
    bad("x,who\n1,18446744073709551616\n", &options, EFFACE_E_FORMAT, 2, 2, "2^64");
    /* 007 first: all are texts, and 7 is another person. */
    options = options_of(NULL, "who", NULL, NULL);
    data = expect("x,who\n1,007\n2,7\n", &options, 2, 1, (const double[]){1, 2});
    assert_int_equal(efface_data_row(data, 0).owner, efface_text_id("007", 3, options.hash_key));
    assert_int_equal(efface_data_row(data, 1).owner, efface_text_id("7", 1, options.hash_key));
    efface_data_free(data);
    bad("x,who\n1,7\n2,007\n", &options, EFFACE_E_FORMAT, 3, 2, "begins with a zero");
    /* A first row without an owner is a row. */
    options = options_of(NULL, "2", NULL, NULL);
    data = expect("1,\n2,7\n", &options, 2, 1, (const double[]){1, 2});
    assert_true(efface_data_row(data, 0).owner == EFFACE_NO_OWNER);
    assert_int_equal(efface_data_row(data, 1).owner, 7);
    efface_data_free(data);
}

static void test_weights(void **state) {
    (void)state;
    const efface_load_options options = options_of(NULL, NULL, "w", NULL);
    efface_data *const data =
        expect("x,w\n1,1\n2, 2.0\n3,3e3\n", &options, 3, 1, (const double[]){1, 2, 3});
    assert_int_equal(efface_data_row(data, 1).weight, 2);
    assert_int_equal(efface_data_row(data, 2).weight, 3000);
    assert_int_equal(efface_data_total_weight(data), 3003);
    efface_data_free(data);
    const char *const wrong[] = {"0", "-1", "1.5", "1099511627776", "1e300", "nan", "", "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "x,w\n1,1\n2,%s\n", wrong[i]);
        bad(text, &options, i == 4 ? EFFACE_E_LIMIT : EFFACE_E_FORMAT, 3, 2, "");
    }
    /* Together too heavy: the row that is one too many is named. */
    bad("x,w\n1,5\n2,1099511627770\n3,1\n", &options, EFFACE_E_LIMIT, 4, 0, "weight");
}

static void test_label_column(void **state) {
    (void)state;
    const efface_load_options options = options_of(NULL, NULL, NULL, "class");
    const double values[] = {1, 2, 3, 4};
    efface_data *data =
        expect("x,class\n1,-2147483648\n2,2147483647\n3,5.0\n4,16777217\n", &options, 4, 1, values);
    assert_int_equal(efface_data_row(data, 0).label, INT32_MIN);
    assert_int_equal(efface_data_row(data, 1).label, INT32_MAX);
    assert_int_equal(efface_data_row(data, 2).label, 5);
    assert_int_equal(efface_data_row(data, 3).label, 16777217);
    efface_data_free(data);
    data = expect("x,class\n1,oak\n2,elm\n3,oak\n4,12\n", &options, 4, 1, values);
    assert_int_equal(efface_data_row(data, 0).label, efface_text_label("oak", 3));
    assert_int_equal(efface_data_row(data, 1).label, efface_text_label("elm", 3));
    assert_int_equal(efface_data_row(data, 2).label, efface_text_label("oak", 3));
    assert_int_equal(efface_data_row(data, 3).label, efface_text_label("12", 2));
    efface_data_free(data);
    /* They depend neither on the order of rows nor on the key. */
    efface_load_options keyed = options;
    keyed.hash_key[5] = 9;
    data = expect("x,class\n1,elm\n2,oak\n", &keyed, 2, 1, values);
    assert_int_equal(efface_data_row(data, 0).label, efface_text_label("elm", 3));
    assert_int_equal(efface_data_row(data, 1).label, efface_text_label("oak", 3));
    efface_data_free(data);
    data = expect("x,class\n1,-9007199254740992\n2,9007199254740992\n", &options, 2, 1, values);
    assert_int_equal(efface_data_row(data, 0).label, -(INT64_C(1) << 53));
    assert_int_equal(efface_data_row(data, 1).label, INT64_C(1) << 53);
    efface_data_free(data);
    bad("x,class\n1,3\n2,oak\n", &options, EFFACE_E_FORMAT, 3, 2, "not a number");
    bad("x,class\n1,3\n2,9007199254740994\n", &options, EFFACE_E_FORMAT, 3, 2, "2^53");
    bad("x,class\n1,1.5\n", &options, EFFACE_E_FORMAT, 2, 2, "2^53");
    bad("x,class\n1,\n", &options, EFFACE_E_FORMAT, 2, 2, "label is empty");
    bad("x,class\n1,oak\n2,\n", &options, EFFACE_E_FORMAT, 3, 2, "label is empty");
    /* What labels are need not be detected. */
    efface_load_options told = options;
    told.labels = EFFACE_IDS_TEXT;
    data = expect("x,class\n1,12\n2,oak\n", &told, 2, 1, values);
    assert_int_equal(efface_data_row(data, 0).label, efface_text_label("12", 2));
    assert_int_equal(efface_data_row(data, 1).label, efface_text_label("oak", 3));
    efface_data_free(data);
    told.labels = EFFACE_IDS_NUMBERS;
    bad("x,class\n1,oak\n", &told, EFFACE_E_FORMAT, 2, 2, "labels are read as numbers");
}

/* ---------------------------------------------------------------- damaged and long files */

/* A cut may leave a valid file, with as many rows as there are lines; never a crash, and never
 * rows that the whole file does not have before the last line. */
static void test_truncation(void **state) {
    (void)state;
    const efface_load_options options = options_of("id", "who", "w", "class");
    const char *const text = "id,\"x\",who,w,class,y\r\na,1.25,ann,3,oak,4\r\n"
                             "\"b\"\"\",2e1,bob,4,\"e\r\nlm\",-5\r\nc,3,,5,oak,6\r\n";
    const size_t n_bytes = strlen(text);
    efface_data *const whole = load_ok(text, n_bytes, &options);
    assert_int_equal(efface_data_n_rows(whole), 3);
    size_t n_loaded = 0;
    for (size_t n = 0; n < n_bytes; n++) {
        outcome first = {.status = EFFACE_OK};
        outcome o;
        for (int way = 0; load_way(way, text, n, &options, &o); way++) {
            if (way == 0)
                first = o;
            assert_int_equal(o.status, first.status);
            if (o.status == EFFACE_OK) {
                assert_same_rows(first.data, o.data);
                for (size_t i = 0; i + 1 < efface_data_n_rows(o.data); i++)
                    assert_int_equal(efface_data_row(o.data, i).id, efface_data_row(whole, i).id);
                if (way > 0)
                    efface_data_free(o.data);
            } else {
                assert_ptr_equal(o.data, untouched());
                assert_int_equal(o.error.line, first.error.line);
                assert_int_equal(o.error.column, first.error.column);
            }
        }
        if (first.status == EFFACE_OK)
            efface_data_free(first.data);
        n_loaded += first.status == EFFACE_OK;
    }
    assert_true(n_loaded > 3 && n_loaded < 12);
    efface_data_free(whole);
    /* Gzipped, every cut is noticed. */
    size_t n_packed;
    unsigned char *const packed = read_back(write_gzip(text, n_bytes, "wb"), &n_packed);
    for (size_t n = 0; n < n_packed; n++) {
        const outcome o = load_path(write_plain(packed, n), &options);
        assert_int_equal(o.status, EFFACE_E_FORMAT);
        assert_ptr_equal(o.data, untouched());
    }
    free(packed);
}

static void test_long_records(void **state) {
    (void)state;
    /* A field longer than the reader's buffer. */
    const size_t n_long = 1 << 20;
    const efface_load_options options = options_of("2", NULL, NULL, NULL);
    char *const text = malloc(n_long + 100);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, 100, "x,id\n1,\"");
    memset(text + n, 'a', n_long);
    n += n_long;
    n += (size_t)snprintf(text + n, 90, "\"\n2,b\n3,!\"\n");
    outcome o = load_memory(text, n - 5, 1 << 20, &options);
    assert_int_equal(o.status, EFFACE_OK);
    assert_int_equal(efface_data_n_rows(o.data), 2);
    char *const field = malloc(n_long);
    assert_non_null(field);
    memset(field, 'a', n_long);
    assert_int_equal(efface_data_row(o.data, 0).id,
                     efface_text_id(field, n_long, options.hash_key));
    free(field);
    efface_data_free(o.data);
    o = load_memory(text, n, 1 << 20, &options);
    assert_int_equal(o.status, EFFACE_E_FORMAT);
    assert_int_equal(o.error.line, 4);
    free(text);
    /* A record without end in a gzip file of 100 kB. */
    const size_t n_endless = (size_t)100 << 20;
    char *const endless = calloc(1, n_endless);
    assert_non_null(endless);
    memset(endless, ' ', n_endless);
    memcpy(endless, "x\n1\n\"", 5);
    o = load_path(write_gzip(endless, n_endless, "wb1"), NULL);
    assert_int_equal(o.status, EFFACE_E_LIMIT);
    assert_int_equal(o.error.line, 3);
    assert_non_null(strstr(o.error.message, "16 MiB"));
    free(endless);
}

/* ---------------------------------------------------------------- the example */

static void test_people(void **state) {
    (void)state;
    const efface_load_options options = options_of("id", "owner", NULL, "kind");
    const outcome o = load_path(EXAMPLES "/people.csv", &options);
    if (o.status != EFFACE_OK)
        fail_msg("%s", o.error.message);
    assert_int_equal(efface_data_n_rows(o.data), 60);
    assert_int_equal(efface_data_n_columns(o.data), 3);
    assert_string_equal(efface_data_column_name(o.data, 0), "age");
    size_t n_of[21] = {0}, n_regular = 0; /* rows of nobody, p1, p2, ... */
    for (size_t i = 0; i < 60; i++) {
        const efface_row row = efface_data_row(o.data, i);
        assert_int_equal(row.id, i + 1);
        n_regular += row.label == efface_text_label("regular", 7);
        size_t person = row.owner == EFFACE_NO_OWNER ? 0 : 21;
        for (size_t p = 1; p <= 20 && person == 21; p++) {
            char name[8];
            const int n = snprintf(name, sizeof name, "p%zu", p);
            if (row.owner == efface_text_id(name, (size_t)n, options.hash_key))
                person = p;
        }
        assert_true(person <= 20);
        n_of[person]++;
    }
    assert_int_equal(n_of[0], 5);
    for (size_t p = 1; p <= 20; p++)
        assert_in_range(n_of[p], 2, 3);
    assert_int_equal(n_regular, 20);
    efface_data_free(o.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),     cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_bad_numbers), cmocka_unit_test(test_number_rounding),
        cmocka_unit_test(test_locale),      cmocka_unit_test(test_options),
        cmocka_unit_test(test_ids),         cmocka_unit_test(test_text_id),
        cmocka_unit_test(test_duplicates),  cmocka_unit_test(test_owners),
        cmocka_unit_test(test_weights),     cmocka_unit_test(test_label_column),
        cmocka_unit_test(test_truncation),  cmocka_unit_test(test_long_records),
        cmocka_unit_test(test_people),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

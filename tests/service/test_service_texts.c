/* Parts of the service that read texts: hosts, times, roles, routes; and the buckets and turns of
 * requests. */
#include "access/hosts.h"
#include "access/rates.h"
#include "access/times.h"
#include "access/token_file.h"
#include "access/turns.h"
#include "http/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void hosts(void **state) {
    (void)state;
    char name[] = "efface.example", *names[] = {name};
    static const char *const right[] = {"localhost:8741", "LocalHost:8741",    "127.0.0.1:8741",
                                        "[::1]:8741",     "10.0.0.7:8741",     "efface.example",
                                        "Efface.Example", "efface.example:443"};
    static const char *const wrong[] = {"",
                                        "localhost",
                                        "localhost:874",
                                        "localhost:87410",
                                        "localhost:",
                                        "127.0.0.2:8741",
                                        "[::1]",
                                        "[::1:8741",
                                        "::1:8741",
                                        "evil.example",
                                        "efface.example:",
                                        "efface.example:1x",
                                        "a@localhost:8741",
                                        "efface.example.evil",
                                        "localhost:8741:8741",
                                        "10.0.0.7",
                                        ":8741",
                                        "localhost:8741 ",
                                        "efface.example:123456"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        if (!sv_host_ok(right[i], "10.0.0.7:8741", 8741, names, 1))
            fail_msg("%s is right", right[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (sv_host_ok(wrong[i], "10.0.0.7:8741", 8741, names, 1))
            fail_msg("%s is wrong", wrong[i]);
    assert_true(sv_host_ok("localhost", "127.0.0.1:80", 80, NULL, 0));
    assert_true(sv_host_ok("[fe80::7]:80", "[fe80::7]:0", 80, NULL, 0));
    assert_false(sv_host_ok("efface.example", "127.0.0.1:80", 80, NULL, 0));
}

static void times(void **state) {
    (void)state;
    const int64_t now = 1800000000;
    static const struct {
        const char *text;
        int64_t time;
    } right[] = {{"1s", 1800000001},
                 {"90m", 1800005400},
                 {"12h", 1800043200},
                 {"30d", 1802592000},
                 {"8w", 1804838400},
                 {"2027-01-31", 1801353600},
                 {"2028-02-29", 1835395200},
                 {"2027-01-31T12:00", 1801396800},
                 {"2027-01-31 12:00:01", 1801396801},
                 {"2027-01-31T12:00:01Z", 1801396801}};
    static const char *const wrong[] = {"",
                                        "d",
                                        "0d",
                                        "-1d",
                                        "1",
                                        "1y",
                                        "1.5h",
                                        "1dd",
                                        "1 d",
                                        "tomorrow",
                                        "2027-2-1",
                                        "2027-02-29",
                                        "2027-13-1",
                                        "2027-00-10",
                                        "2027-01-00",
                                        "2027-01-32",
                                        "27-01-01",
                                        "2027-01-31T",
                                        "2027-01-31T24:00",
                                        "2027-01-31T12:60",
                                        "2027-01-31T12:00:60",
                                        "2027-01-31T12:00+01",
                                        "2027-01-31x",
                                        "99999999999999999999s",
                                        "9000000000000000000s",
                                        "999999999w"};
    int64_t time;
    char text[32];
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        if (!sv_expiry_read(right[i].text, now, &time) || time != right[i].time)
            fail_msg("%s", right[i].text);
        sv_time_write(right[i].time, text);
        assert_true(sv_expiry_read(text, now, &time));
        assert_int_equal(time, right[i].time);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (sv_expiry_read(wrong[i], now, &time))
            fail_msg("%s is no time", wrong[i]);
}

static void roles_and_names(void **state) {
    (void)state;
    char text[32];
    assert_int_equal(sv_roles_from("read"), SV_READ);
    assert_int_equal(sv_roles_from("admin,read"), SV_READ | SV_ADMIN);
    assert_int_equal(sv_roles_from("read,predict,erase,admin"), SV_ANY_ROLE);
    static const char *const wrong[] = {"",       ",",   "read,", ",read",
                                        "reader", "rea", "Read",  "read erase"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(sv_roles_from(wrong[i]), 0);
    sv_roles_to(SV_ANY_ROLE, text);
    assert_string_equal(text, "read,predict,erase,admin");
    assert_true(sv_token_name_ok("a.B-9_z"));
    assert_false(sv_token_name_ok(""));
    assert_false(sv_token_name_ok("a b"));
    assert_false(sv_token_name_ok("a\"b"));
    char name[SV_TOKEN_NAME_BYTES + 1];
    memset(name, 'a', sizeof name);
    name[SV_TOKEN_NAME_BYTES] = 0;
    assert_false(sv_token_name_ok(name));
    name[SV_TOKEN_NAME_BYTES - 1] = 0;
    assert_true(sv_token_name_ok(name));
}

static void buckets(void **state) {
    (void)state;
    sv_rates *rates = NULL;
    assert_true(sv_rates_open(2.0, 1000, 4000, &rates));
    assert_int_equal(sv_rates_take(rates, "a", 100.0), 0);
    assert_int_equal(sv_rates_take(rates, "a", 100.0), 0);
    assert_int_equal(sv_rates_take(rates, "a", 100.0), 1);
    assert_int_equal(sv_rates_take(rates, "b", 100.0), 0);
    assert_int_equal(sv_rates_take(rates, "a", 100.4), 1);
    assert_int_equal(sv_rates_take(rates, "a", 100.5), 0);
    assert_int_equal(sv_rates_take(rates, "a", 100.5), 1);
    /* Requests that were not made do not add up beyond a second's. */
    for (int i = 0; i < 2; i++)
        assert_int_equal(sv_rates_take(rates, "a", 1000.0), 0);
    assert_int_equal(sv_rates_take(rates, "a", 1000.0), 1);
    sv_rates_free(rates);
    assert_true(sv_rates_open(0.1, 1000, 4000, &rates));
    assert_int_equal(sv_rates_take(rates, "a", 100.0), 0);
    assert_int_equal(sv_rates_take(rates, "a", 100.0), 10);
    sv_rates_free(rates);
    assert_true(sv_rates_open(0, 2, 4000, &rates)); /* at a time */
    for (int i = 0; i < 3; i++)
        assert_int_equal(sv_rates_take(rates, "a", 100.0), i < 2 ? 0 : 1);
    assert_int_equal(sv_rates_take(rates, "b", 100.0), 0);
    sv_rates_give_back(rates, "a");
    assert_int_equal(sv_rates_take(rates, "a", 100.0), 0);
    assert_int_equal(sv_rates_take(rates, "a", 100.0), 1);
    sv_rates_free(rates);
}

/* A token has a quarter of the memory, and all have the whole. */
static void memory(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    sv_rates *rates = NULL;
    assert_true(sv_rates_open(0, 1, 4000, &rates));
    for (int i = 0; i < 5; i++) {
        assert_false(sv_rates_hold(rates, names[i], 1001, false));
        assert_int_equal(sv_rates_hold(rates, names[i], 600, false), i < 4);
        assert_int_equal(sv_rates_hold(rates, names[i], 400, false), i < 4);
        assert_false(sv_rates_hold(rates, names[i], 1, false));
    }
    sv_rates_let_go(rates, "b", 400);
    assert_false(sv_rates_hold(rates, "a", 1, false));
    assert_true(sv_rates_hold(rates, "e", 400, false));
    assert_true(sv_rates_hold(rates, "a", 100, true));
    sv_rates_let_go(rates, "a", 1100);
    assert_true(sv_rates_hold(rates, "a", 1000, false));
    assert_false(sv_rates_hold(rates, "b", 1, false));
    sv_rates_free(rates);
}

static const sv_route routes[] = {
    {"GET", "/", 0, SV_HERE, NULL, "page"},
    {"GET", "/v1/s/{store}", 0, SV_HERE, NULL, "store"},
    {"POST", "/v1/s/{store}/forget", 0, SV_HERE, NULL, "forget"},
    {"GET", "/v1/s/{store}/receipts/{number}", 0, SV_HERE, NULL, "receipt"},
    {"POST", "/v1/s/{store}/receipts/verify", 0, SV_HERE, NULL, "verify"},
    {"GET", "/v1/jobs/{job}", 0, SV_HERE, NULL, "job"},
    {"DELETE", "/v1/jobs/{job}", 0, SV_HERE, NULL, "cancel"},
    {NULL, NULL, 0, SV_HERE, NULL, NULL},
};

static void paths(void **state) {
    (void)state;
    static const struct {
        const char *method, *path;
        const char *found; /* the action, or the methods that are allowed, or NULL */
        const char *first, *second;
    } cases[] = {
        {"GET", "/", "page", NULL, NULL},
        {"HEAD", "/v1/s/a", "store", "a", NULL},
        {"GET", "/v1/s/a%20b%2e", "store", "a b.", NULL},
        {"GET", "/v1/s/a/receipts/7", "receipt", "a", "7"},
        {"POST", "/v1/s/a/receipts/verify", "verify", "a", NULL},
        {"GET", "/v1/s/a/receipts/verify", "POST", NULL, NULL},
        {"PUT", "/v1/jobs/1", "GET, DELETE", NULL, NULL},
        {"get", "/v1/jobs/1", "GET, DELETE", NULL, NULL},
        {"GET", "/v1/s/", NULL, NULL, NULL},
        {"GET", "/v1/s//receipts/7", NULL, NULL, NULL},
        {"GET", "/v1/s/a/", NULL, NULL, NULL},
        {"GET", "/v1/s/a%2Fb", NULL, NULL, NULL},
        {"GET", "/v1/s/a%00", NULL, NULL, NULL},
        {"GET", "/v1/s/a%", NULL, NULL, NULL},
        {"GET", "/v1/s/a%4", NULL, NULL, NULL},
        {"GET", "/v1/s/a%4g", NULL, NULL, NULL},
        {"GET", "", NULL, NULL, NULL},
        {"GET", "*", NULL, NULL, NULL},
        {"GET", "http://localhost/", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64], allowed[64];
        const sv_route *route = NULL;
        const char *parts[SV_MAX_PARTS] = {NULL};
        (void)snprintf(path, sizeof path, "%s", cases[i].path);
        const sv_routing how = sv_route_find(routes, cases[i].method, path, &route, parts, allowed);
        const char *const found = how == SV_ROUTED      ? route->action
                                  : how == SV_NO_METHOD ? allowed
                                                        : NULL;
        print_message("%s %s\n", cases[i].method, cases[i].path);
        assert_int_equal(found != NULL, cases[i].found != NULL);
        if (found != NULL)
            assert_string_equal(found, cases[i].found);
        assert_int_equal(parts[0] != NULL, cases[i].first != NULL);
        if (parts[0] != NULL)
            assert_string_equal(parts[0], cases[i].first);
        assert_int_equal(parts[1] != NULL, cases[i].second != NULL);
        if (parts[1] != NULL)
            assert_string_equal(parts[1], cases[i].second);
    }
}

static bool is_not(const void *who, const sv_turn *turn) {
    return strcmp(turn->who, who) != 0;
}

/* Takes all, and compares: each is a letter of its line, and its number in it. */
static void check_turns(sv_turns *all, const char *wanted) {
    static const char numbers[] = "123456789";
    size_t taken[3] = {0};
    for (; *wanted != 0; wanted += 2) {
        const sv_turn *const turn = sv_turns_take(all, NULL, NULL);
        assert_non_null(turn);
        assert_int_equal(turn->who[0], wanted[0]);
        assert_int_equal(numbers[taken[turn->who[0] - 'a']++], wanted[1]);
    }
    assert_null(sv_turns_take(all, NULL, NULL));
    assert_null(all->last);
}

/* Lines take turns, and in a line what came first is first. */
static void turns(void **state) {
    (void)state;
    sv_turns all = {.first = NULL};
    sv_turn turn[8];
    for (size_t round = 0; round < 2; round++) {
        static const char *const who[] = {"a", "a", "a", "b", "a", "c", "b"};
        for (size_t i = 0; i < 7; i++) {
            turn[i].who = who[i];
            sv_turns_add(&all, &turn[i]);
        }
        check_turns(&all, "a1b1c1a2b2a3a4");
    }
    for (size_t i = 0; i < 8; i++) {
        turn[i].who = i < 4 ? "a" : i < 6 ? "b" : "c";
        sv_turns_add(&all, &turn[i]);
    }
    assert_ptr_equal(sv_turns_take(&all, is_not, "a"), &turn[4]);
    assert_ptr_equal(sv_turns_take(&all, is_not, "a"), &turn[6]);
    assert_ptr_equal(sv_turns_take(&all, is_not, "a"), &turn[5]);
    assert_ptr_equal(sv_turns_take(&all, is_not, "a"), &turn[7]);
    assert_null(sv_turns_take(&all, is_not, "a"));
    check_turns(&all, "a1a2a3a4");
    /* What goes on later is the first of its line, and others have their turns before. */
    for (size_t i = 0; i < 6; i++) {
        turn[i].who = i < 2 ? "a" : i < 4 ? "b" : "c";
        sv_turns_add(&all, &turn[i]);
    }
    static const size_t wanted[] = {0, 2, 4, 0, 3, 5, 0, 1};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_ptr_equal(sv_turns_take(&all, NULL, NULL), &turn[wanted[i]]);
        if (i == 0 || i == 3)
            sv_turns_add_again(&all, &turn[0]);
    }
    assert_null(sv_turns_take(&all, NULL, NULL));
    turn[6].who = "b"; /* the only one; and before the only one */
    sv_turns_add_again(&all, &turn[6]);
    turn[7].who = "b";
    sv_turns_add_again(&all, &turn[7]);
    assert_ptr_equal(sv_turns_take(&all, NULL, NULL), &turn[7]);
    check_turns(&all, "b1");
}

typedef struct readiness {
    sv_turn turn[7];
    bool ready[7];
} readiness;

static bool is_ready(const void *context, const sv_turn *turn) {
    const readiness *const r = context;
    return r->ready[turn - r->turn];
}

/* Those that may not go let others of their line go first, and keep their order. */
static void overtaking(void **state) {
    (void)state;
    readiness r = {.ready = {false, false, true, true, false, true, true}};
    static const size_t first[] = {2, 5, 3}, then[] = {4, 0, 1, 6};
    sv_turns all = {.overtake = true};
    for (size_t i = 0; i < 6; i++) {
        r.turn[i].who = i < 4 ? "a" : "b";
        sv_turns_add(&all, &r.turn[i]);
    }
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(sv_turns_take(&all, is_ready, &r), &r.turn[first[i]]);
    assert_null(sv_turns_take(&all, is_ready, &r));
    r.turn[6].who = "a";
    sv_turns_add(&all, &r.turn[6]);
    r.ready[0] = r.ready[1] = r.ready[4] = true;
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(sv_turns_take(&all, is_ready, &r), &r.turn[then[i]]);
    assert_null(all.first);
    assert_null(all.last);
}

/* Who has read for long has a rest of three times as long. */
static void readings(void **state) {
    (void)state;
    sv_rates *rates = NULL;
    assert_true(sv_rates_open(0, 10, 1000, &rates));
    sv_rates_note_reading(rates, "a", 10.0, 0.01);
    assert_false(sv_rates_reads_much(rates, "a", 10.0));
    sv_rates_note_reading(rates, "a", 10.0, 1.0);
    sv_rates_note_reading(rates, "a", 11.0, 1.0);
    assert_true(sv_rates_reads_much(rates, "a", 15.9));
    assert_false(sv_rates_reads_much(rates, "a", 16.1));
    assert_false(sv_rates_reads_much(rates, "b", 11.0));
    sv_rates_free(rates);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts),   cmocka_unit_test(times),      cmocka_unit_test(roles_and_names),
        cmocka_unit_test(buckets), cmocka_unit_test(paths),      cmocka_unit_test(turns),
        cmocka_unit_test(memory),  cmocka_unit_test(overtaking), cmocka_unit_test(readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

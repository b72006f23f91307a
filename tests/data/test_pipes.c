/*
 * Rows and labels from pipes and from standard input: what a file on disk gives, plain or gzipped,
 * in every format. A child writes, in pieces of any size, so that the loader has to wait.
 */
#define _POSIX_C_SOURCE 200809L

#include "load_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char *const fifo_name = "rows.fifo";

typedef struct content {
    unsigned char *bytes;
    size_t n_bytes;
} content;

/* ---------------------------------------------------------------- the same rows in each format */

enum { N_ROWS = 9000, N_COLUMNS = 3, N_FORMATS = 3 };

static float value_at(size_t row, size_t column) {
    return (float)(row * 7 % 256 * (column + 1) % 251);
}

static content make_csv(void) {
    const size_t room = (size_t)N_ROWS * N_COLUMNS * 8 + 64;
    content c = {malloc(room), 0};
    assert_non_null(c.bytes);
    c.n_bytes = (size_t)snprintf((char *)c.bytes, room, "x,y,z\n");
    for (size_t i = 0; i < (size_t)N_ROWS * N_COLUMNS; i++)
        c.n_bytes += (size_t)snprintf((char *)c.bytes + c.n_bytes, room - c.n_bytes, "%g%c",
                                      (double)value_at(i / N_COLUMNS, i % N_COLUMNS),
                                      i % N_COLUMNS == N_COLUMNS - 1 ? '\n' : ',');
    return c;
}

/* Bytes after a header. */
static content make_array(const void *header, size_t n_header) {
    const size_t n = (size_t)N_ROWS * N_COLUMNS;
    content c = {malloc(n_header + n), n_header + n};
    assert_non_null(c.bytes);
    memcpy(c.bytes, header, n_header);
    for (size_t i = 0; i < n; i++)
        c.bytes[n_header + i] = (unsigned char)value_at(i / N_COLUMNS, i % N_COLUMNS);
    return c;
}

static content make_npy(void) {
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    const int n = snprintf(header + 10, sizeof header - 10,
                           "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", N_ROWS,
                           N_COLUMNS);
    header[10 + n] = ' ';
    header[sizeof header - 1] = '\n';
    return make_array(header, sizeof header);
}

static content make_idx(void) {
    const unsigned char header[] = {0, 0, 8, 2,        0, 0, N_ROWS >> 8, N_ROWS & 255,
                                    0, 0, 0, N_COLUMNS};
    return make_array(header, sizeof header);
}

static content make_format(int format) {
    return format == 0 ? make_csv() : format == 1 ? make_npy() : make_idx();
}

static content gzip(content plain) {
    content packed = {NULL, 0};
    packed.bytes = read_back(write_gzip(plain.bytes, plain.n_bytes, "wb"), &packed.n_bytes);
    return packed;
}

static void check_rows(const outcome *o) {
    if (o->status != EFFACE_OK)
        fail_msg("%s", o->error.message);
    assert_int_equal(efface_data_n_rows(o->data), N_ROWS);
    assert_int_equal(efface_data_n_columns(o->data), N_COLUMNS);
    for (size_t i = 0; i < N_ROWS; i++)
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            assert_true(ef_data_value(o->data, i, j) == value_at(i, j));
    efface_data_free(o->data);
}

/* ---------------------------------------------------------------- a child that writes */

/* In the child: writes everything in pieces, now and then resting, and ends. */
static void write_pieces(int to, const void *bytes, size_t n_bytes, size_t piece) {
    const struct timespec rest = {0, 1000000};
    size_t done = 0;
    for (size_t turn = 0; done < n_bytes; turn++) {
        const size_t part = n_bytes - done < piece ? n_bytes - done : piece;
        const ssize_t n = write(to, (const char *)bytes + done, part);
        if (n < 0 && errno != EINTR)
            _exit(1);
        done += n > 0 ? (size_t)n : 0;
        if (turn < 8)
            (void)nanosleep(&rest, NULL);
    }
    _exit(0);
}

static pid_t begin_fifo(const void *bytes, size_t n_bytes, size_t piece) {
    const char *const path = path_of(fifo_name);
    (void)unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int to = open(path, O_WRONLY);
        write_pieces(to, bytes, n_bytes, piece);
    }
    return child;
}

static void end_child(pid_t child) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)unlink(path_of(fifo_name));
}

/* ---------------------------------------------------------------- standard input */

/* Puts `file` in the place of standard input, and what was there back. */
static int place_stdin(int file) {
    const int before = dup(STDIN_FILENO);
    assert_true(before >= 0);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    return before;
}

static void restore_stdin(int before) {
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(close(before), 0);
}

static outcome load_redirected(const char *path) {
    const int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    const int before = place_stdin(file);
    assert_int_equal(close(file), 0);
    const outcome o = load_path("-", NULL);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* still open */
    restore_stdin(before);
    return o;
}

/* From a pipe that a child writes to. */
static outcome load_piped(content c, size_t piece, int flags) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        write_pieces(ends[1], c.bytes, c.n_bytes, piece);
    }
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, flags), 0);
    const int before = place_stdin(ends[0]);
    assert_int_equal(close(ends[0]), 0);
    const outcome o = load_path("-", NULL);
    restore_stdin(before);
    end_child(child);
    return o;
}

/* ---------------------------------------------------------------- tests */

static const size_t pieces[] = {777, 1 << 20};

static void a_fifo_is_a_file(void **state) {
    (void)state;
    for (int format = 0; format < N_FORMATS; format++) {
        const content plain = make_format(format), packed = gzip(plain);
        for (size_t i = 0; i < 2; i++) {
            const content *const both[] = {&plain, &packed};
            for (size_t j = 0; j < 2; j++) {
                const pid_t child = begin_fifo(both[j]->bytes, both[j]->n_bytes, pieces[i]);
                const outcome o = load_path(path_of(fifo_name), NULL);
                end_child(child);
                check_rows(&o);
            }
        }
        free(plain.bytes);
        free(packed.bytes);
    }
}

static void standard_input_is_a_file(void **state) {
    (void)state;
    for (int format = 0; format < N_FORMATS; format++) {
        const content plain = make_format(format), packed = gzip(plain);
        outcome o = load_redirected(write_plain(plain.bytes, plain.n_bytes));
        check_rows(&o);
        o = load_redirected(write_plain(packed.bytes, packed.n_bytes));
        check_rows(&o);
        for (size_t i = 0; i < 2; i++) {
            o = load_piped(plain, pieces[i], 0);
            check_rows(&o);
            o = load_piped(packed, pieces[i], 0);
            check_rows(&o);
        }
        /* Somebody made the pipe non-blocking: no reason to give up. */
        o = load_piped(plain, pieces[0], O_NONBLOCK);
        check_rows(&o);
        free(plain.bytes);
        free(packed.bytes);
    }
}

/* What was read of standard input already is not read again, and does not count. */
static void standard_input_is_read_from_where_it_stands(void **state) {
    (void)state;
    content c = make_npy();
    content later = {malloc(c.n_bytes + 5), c.n_bytes + 5};
    assert_non_null(later.bytes);
    memcpy(later.bytes, "12345", 5);
    memcpy(later.bytes + 5, c.bytes, c.n_bytes);
    const int file = open(write_plain(later.bytes, later.n_bytes), O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(lseek(file, 5, SEEK_SET), 5);
    const int before = place_stdin(file);
    ef_reader reader;
    uint64_t left = 0;
    assert_int_equal(ef_reader_open(&reader, "-", NULL), EFFACE_OK);
    assert_true(ef_reader_left(&reader, &left) && left == c.n_bytes);
    ef_reader_close(&reader);
    assert_int_equal(lseek(file, 5, SEEK_SET), 5);
    outcome o = load_path("-", NULL);
    check_rows(&o);
    /* At its end there is nothing more. */
    o = load_path("-", NULL);
    assert_int_equal(o.status, EFFACE_E_FORMAT);
    assert_non_null(strstr(o.error.message, "empty"));
    assert_string_equal(o.error.file, "standard input");
    /* Beyond the end, where a file that shrank leaves one. */
    assert_true(lseek(file, (off_t)later.n_bytes + 10, SEEK_SET) > 0);
    assert_int_equal(load_path("-", NULL).status, EFFACE_E_FORMAT);
    restore_stdin(before);
    assert_int_equal(close(file), 0);
    free(c.bytes);
    free(later.bytes);
}

static void labels_come_through_pipes(void **state) {
    (void)state;
    static const float values[] = {1, 2, 3};
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    const efface_rows rows = {.n_rows = 3, .values = values};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    const pid_t child = begin_fifo(BYTES("class\n5\n-6\n7\n"), 1);
    assert_int_equal(efface_data_load_labels(data, path_of(fifo_name), NULL), EFFACE_OK);
    end_child(child);
    assert_int_equal(efface_data_row(data, 1).label, -6);
    const int file = open(write_gzip(BYTES("8\n9\n10\n"), "wb"), O_RDONLY);
    assert_true(file >= 0);
    const int before = place_stdin(file);
    assert_int_equal(efface_data_load_labels(data, "-", NULL), EFFACE_OK);
    restore_stdin(before);
    assert_int_equal(close(file), 0);
    assert_int_equal(efface_data_row(data, 2).label, 10);
    efface_data_free(data);
}

static void errors_name_standard_input(void **state) {
    (void)state;
    outcome o = load_redirected(write_plain(BYTES("x,y\n1,2\n3,?\n")));
    assert_int_equal(o.status, EFFACE_E_FORMAT);
    assert_ptr_equal(o.data, untouched());
    assert_string_equal(o.error.file, "standard input");
    assert_true(o.error.line == 3 && o.error.column == 2);
    assert_non_null(strstr(o.error.message, "standard input"));
    /* A cut in a pipe: the array says how long it is. */
    content c = make_npy();
    c.n_bytes -= 2;
    o = load_piped(c, 1 << 20, 0);
    assert_int_equal(o.status, EFFACE_E_FORMAT);
    assert_non_null(strstr(o.error.message, "ends here"));
    content packed = gzip(c);
    packed.n_bytes /= 2;
    o = load_piped(packed, 1 << 20, 0);
    assert_int_equal(o.status, EFFACE_E_FORMAT);
    free(c.bytes);
    free(packed.bytes);
    /* Closed. */
    const int before = dup(STDIN_FILENO);
    assert_true(before >= 0);
    assert_int_equal(close(STDIN_FILENO), 0);
    o = load_path("-", NULL);
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(close(before), 0);
    assert_int_equal(o.status, EFFACE_E_IO);
    assert_string_equal(o.error.file, "standard input");
}

/* A file that is called "-" has a path with a folder. */
static void a_file_may_be_called_a_dash(void **state) {
    (void)state;
    char before[1024];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    FILE *const file = fopen("-", "wb");
    assert_non_null(file);
    assert_true(fputs("1,2\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    const outcome o = load_path("./-", NULL);
    assert_int_equal(unlink("-"), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(o.status, EFFACE_OK);
    assert_int_equal(efface_data_n_columns(o.data), 2);
    efface_data_free(o.data);
}

int main(void) {
    (void)signal(SIGPIPE, SIG_IGN);
    if (fcntl(STDIN_FILENO, F_GETFD) < 0) /* so that there is something to put back */
        assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fifo_is_a_file),
        cmocka_unit_test(standard_input_is_a_file),
        cmocka_unit_test(standard_input_is_read_from_where_it_stands),
        cmocka_unit_test(labels_come_through_pipes),
        cmocka_unit_test(errors_name_standard_input),
        cmocka_unit_test(a_file_may_be_called_a_dash),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

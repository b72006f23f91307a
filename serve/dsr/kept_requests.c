/* The files of OpenDSR requests (kept_requests.h). */
#include "dsr/kept_requests.h"
#include "access/own_files.h"
#include "api/values.h"
#include "wiping.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES 32
#define ENDED "ended.jsonl"
#define MAX_FILE_BYTES (1 << 20) /* of a request; a body is far shorter */
#define NAME_BYTES 48            /* of a file: a UUID and an ending */

struct sv_dsr_kept {
    char *path;
    int folder; /* these are -1 until the folder is there */
    int lock;
    int ended;
    unsigned char key[KEY_BYTES];
};

/* ------------------------------------------------------------------ files */

static int write_all(int file, const char *bytes, size_t n) {
    while (n != 0) {
        const ssize_t written = write(file, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

static int sync_file(int file) {
    return fsync(file) == 0 ? 0 : errno;
}

/* Reads a whole file, which gets an ending 0. */
static int read_all(int file, size_t most, char **out, size_t *n_out) {
    struct stat about;
    if (fstat(file, &about) != 0)
        return errno;
    if (about.st_size < 0 || (uint64_t)about.st_size > most)
        return EBADMSG;
    const size_t size = (size_t)about.st_size;
    char *const bytes = malloc(size + 1);
    if (bytes == NULL)
        return ENOMEM;
    size_t n = 0;
    while (n < size) {
        const ssize_t got = pread(file, bytes + n, size - n, (off_t)n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            const int error = got < 0 ? errno : EIO;
            sv_wipe_free(bytes, n);
            return error;
        }
        n += (size_t)got;
    }
    bytes[n] = 0;
    *out = bytes;
    *n_out = n;
    return 0;
}

/* Overwrites a file and removes it. A file that is not there is removed already. */
static int wipe_file(int folder, const char *name) {
    static const char zeros[4096];
    struct stat about;
    const int file = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return errno == ENOENT ? 0 : errno;
    int error = fstat(file, &about) == 0 ? 0 : errno;
    for (off_t n = 0; error == 0 && n < about.st_size; n += (off_t)sizeof zeros) {
        const off_t rest = about.st_size - n;
        error = write_all(file, zeros, rest < (off_t)sizeof zeros ? (size_t)rest : sizeof zeros);
    }
    if (error == 0)
        error = sync_file(file);
    (void)close(file);
    if (error == 0 && unlinkat(folder, name, 0) != 0)
        error = errno;
    return error;
}

/* Writes a file under another name first, so that it is complete when it has its own. */
static int put_file(int folder, const char *name, const char *other, const char *bytes, size_t n) {
    int error = wipe_file(folder, other);
    if (error != 0)
        return error;
    const int file =
        openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return errno;
    error = write_all(file, bytes, n);
    if (error == 0)
        error = sync_file(file);
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && renameat(folder, other, folder, name) != 0)
        error = errno;
    if (error != 0) {
        (void)wipe_file(folder, other);
        return error;
    }
    error = sync_file(folder);
    if (error != 0)
        (void)wipe_file(folder, name);
    return error;
}

/* ------------------------------------------------------------------ entries as JSON */

static json_t *receipts_as_json(const sv_dsr_entry *entry) {
    json_t *const receipts = json_array();
    for (size_t i = 0; i < entry->n_receipts; i++) {
        const sv_dsr_receipt *const r = &entry->receipts[i];
        json_t *const item = json_pack("[s,I]", r->store, (json_int_t)r->number);
        if (r->has_digest)
            sv_json_add(item, sv_json_digest(r->digest));
        sv_json_add(receipts, item);
    }
    return receipts;
}

/* A line for an entry; NULL if there is no memory. An entry that has ended has no names in it. */
static char *encode_entry(const sv_dsr_entry *entry) {
    char hash[2 * SV_DSR_HASH_BYTES + 1];
    const bool ended = entry->ended != 0;
    (void)sodium_bin2hex(hash, sizeof hash, entry->hash, sizeof entry->hash);
    json_t *const people = json_array();
    for (size_t i = 0; !ended && i < entry->n_people; i++)
        sv_json_add(people, json_string(entry->people[i]));
    json_t *const json =
        json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:b,s:I,s:o,s:o}", "id", entry->id, "controller",
                  entry->controller, "status",
                  sv_dsr_statuses[ended ? entry->status : SV_DSR_PENDING], "hash", hash, "received",
                  (json_int_t)entry->received, "expected", (json_int_t)entry->expected, "ended",
                  (json_int_t)entry->ended, "interrupted", entry->interrupted, "rows",
                  (json_int_t)entry->n_rows, "receipts", receipts_as_json(entry), "people", people);
    const bool complete = json != NULL && (ended || json_array_size(people) == entry->n_people) &&
                          json_array_size(json_object_get(json, "receipts")) == entry->n_receipts;
    char *const text = complete ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

static bool decode_people(const json_t *people, sv_dsr_entry *entry) {
    const size_t n = json_array_size(people);
    entry->people = calloc(n, sizeof *entry->people);
    if (entry->people == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *const person = json_string_value(json_array_get(people, i));
        entry->people[i] = person != NULL ? strdup(person) : NULL;
        if (entry->people[i] == NULL)
            return false;
        entry->n_people++;
    }
    return true;
}

static bool decode_receipts(const json_t *receipts, sv_dsr_entry *entry) {
    for (size_t i = 0; i < json_array_size(receipts); i++) {
        const json_t *const receipt = json_array_get(receipts, i);
        const char *const store = json_string_value(json_array_get(receipt, 0));
        const char *const hex = json_string_value(json_array_get(receipt, 2));
        unsigned char digest[EFFACE_DIGEST_BYTES];
        size_t n = 0;
        if (hex != NULL &&
            (sodium_hex2bin(digest, sizeof digest, hex, strlen(hex), NULL, &n, NULL) != 0 ||
             n != sizeof digest))
            return false;
        if (store == NULL ||
            !sv_dsr_add_receipt(entry, store,
                                (uint64_t)json_integer_value(json_array_get(receipt, 1)),
                                hex != NULL ? digest : NULL))
            return false;
    }
    return true;
}

static bool decode_fields(json_t *json, sv_dsr_entry *entry) {
    const char *id = NULL, *controller = NULL, *status = NULL, *hash = NULL;
    json_int_t received = 0, expected = 0, ended = 0, rows = 0;
    int interrupted = 0;
    json_t *receipts = NULL, *people = NULL;
    size_t n = 0;
    if (json_unpack(json, "{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:b,s:I,s:o,s:o}", "id", &id, "controller",
                    &controller, "status", &status, "hash", &hash, "received", &received,
                    "expected", &expected, "ended", &ended, "interrupted", &interrupted, "rows",
                    &rows, "receipts", &receipts, "people", &people) != 0)
        return false;
    if (strlen(id) + 1 != sizeof entry->id || strlen(controller) >= sizeof entry->controller ||
        sodium_hex2bin(entry->hash, sizeof entry->hash, hash, strlen(hash), NULL, &n, NULL) != 0 ||
        n != sizeof entry->hash)
        return false;
    memcpy(entry->id, id, sizeof entry->id);
    memcpy(entry->controller, controller, strlen(controller) + 1);
    entry->received = received;
    entry->expected = expected;
    entry->ended = ended;
    entry->interrupted = interrupted != 0;
    entry->n_rows = (uint64_t)rows;
    if (ended != 0)
        entry->status = strcmp(status, sv_dsr_statuses[SV_DSR_CANCELLED]) == 0 ? SV_DSR_CANCELLED
                                                                               : SV_DSR_COMPLETED;
    return decode_receipts(receipts, entry) && (ended != 0 || decode_people(people, entry));
}

static sv_dsr_entry *decode_entry(const char *text, size_t n) {
    json_t *const json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    sv_dsr_entry *entry = calloc(1, sizeof *entry);
    if (json == NULL || entry == NULL || !decode_fields(json, entry)) {
        sv_dsr_entry_free(entry);
        entry = NULL;
    }
    json_decref(json);
    return entry;
}

/* ------------------------------------------------------------------ the folder */

int sv_dsr_kept_open(const char *tokens, sv_dsr_kept **out) {
    sv_dsr_kept *const k = calloc(1, sizeof *k);
    char *const path = sv_name_beside(tokens, ".opendsr");
    if (k == NULL || path == NULL) {
        free(k);
        free(path);
        return ENOMEM;
    }
    k->path = path;
    k->folder = k->lock = k->ended = -1;
    *out = k;
    return 0;
}

static void leave_folder(sv_dsr_kept *k) {
    int *const files[] = {&k->ended, &k->lock, &k->folder};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (*files[i] >= 0)
            (void)close(*files[i]);
        *files[i] = -1;
    }
    sodium_memzero(k->key, sizeof k->key);
}

void sv_dsr_kept_close(sv_dsr_kept *k) {
    if (k == NULL)
        return;
    leave_folder(k);
    free(k->path);
    free(k);
}

/* Reads the key; makes one if there is none. */
static int get_key(sv_dsr_kept *k) {
    char *bytes = NULL;
    size_t n = 0;
    const int file = openat(k->folder, "key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0 && errno != ENOENT)
        return errno;
    if (file < 0) {
        randombytes_buf(k->key, sizeof k->key);
        return put_file(k->folder, "key", "key.new", (const char *)k->key, sizeof k->key);
    }
    int error = read_all(file, sizeof k->key, &bytes, &n);
    (void)close(file);
    if (error == 0 && n != sizeof k->key)
        error = EBADMSG;
    if (error == 0)
        memcpy(k->key, bytes, n);
    sv_wipe_free(bytes, n);
    return error;
}

/* Opens the folder and what is always in it. ENOENT if it is not there. */
static int enter_folder(sv_dsr_kept *k) {
    int error = 0;
    k->folder = open(k->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (k->folder < 0)
        return errno;
    k->lock = openat(k->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (k->lock < 0)
        error = errno;
    else if (flock(k->lock, LOCK_EX | LOCK_NB) != 0)
        error = errno == EWOULDBLOCK ? EBUSY : errno;
    if (error == 0)
        error = get_key(k);
    if (error == 0) {
        k->ended =
            openat(k->folder, ENDED, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        error = k->ended >= 0 ? sync_file(k->folder) : errno;
    }
    if (error != 0)
        leave_folder(k);
    return error;
}

int sv_dsr_kept_make(sv_dsr_kept *k) {
    if (k->folder >= 0)
        return 0;
    if (mkdir(k->path, 0700) != 0 && errno != EEXIST)
        return errno;
    const int error = sv_sync_folder_of(k->path);
    return error != 0 ? error : enter_folder(k);
}

void sv_dsr_kept_hash(const sv_dsr_kept *k, const char *token, const void *body, size_t n_body,
                      unsigned char hash[SV_DSR_HASH_BYTES]) {
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, k->key, sizeof k->key, SV_DSR_HASH_BYTES);
    (void)crypto_generichash_update(&state, (const unsigned char *)token, strlen(token) + 1);
    (void)crypto_generichash_update(&state, body, n_body);
    (void)crypto_generichash_final(&state, hash, SV_DSR_HASH_BYTES);
    sodium_memzero(&state, sizeof state);
}

/* ------------------------------------------------------------------ reading */

/* Reads the lines of what has ended. A last line without its end was being written when the process
 * died: it goes, and its request counts as not ended. */
static int read_ended(sv_dsr_kept *k, sv_dsr *dsr) {
    char *text = NULL;
    size_t n = 0;
    int error = read_all(k->ended, SIZE_MAX / 4, &text, &n);
    size_t begin = 0;
    while (error == 0 && begin < n) {
        const char *const end = memchr(text + begin, '\n', n - begin);
        if (end == NULL) {
            if (ftruncate(k->ended, (off_t)begin) != 0)
                error = errno;
            break;
        }
        sv_dsr_entry *const entry = decode_entry(text + begin, (size_t)(end - text) - begin);
        if (entry != NULL && entry->ended != 0) {
            error = sv_dsr_take_read(dsr, entry) ? 0 : ENOMEM;
        } else {
            sv_dsr_entry_free(entry);
            error = EBADMSG;
        }
        begin = (size_t)(end - text) + 1;
    }
    free(text);
    return error;
}

static int read_pending(const sv_dsr_kept *k, const char *name, sv_dsr *dsr) {
    char id[SV_DSR_ID_BYTES];
    char *text = NULL;
    size_t n = 0;
    (void)snprintf(id, sizeof id, "%.*s", (int)sizeof id - 1, name);
    if (sv_dsr_find(dsr, id) != NULL)
        return wipe_file(k->folder, name);
    const int file = openat(k->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return errno;
    int error = read_all(file, MAX_FILE_BYTES, &text, &n);
    (void)close(file);
    if (error != 0)
        return error;
    /* Zeros are left if the process dies while it takes back a request that it could not add. */
    const bool wiped = sodium_is_zero((const unsigned char *)text, n) != 0;
    sv_dsr_entry *const entry = wiped ? NULL : decode_entry(text, n);
    sv_wipe_free(text, n);
    if (wiped)
        return wipe_file(k->folder, name);
    if (entry == NULL || entry->ended != 0 || strcmp(id, entry->id) != 0) {
        sv_dsr_entry_free(entry);
        return EBADMSG;
    }
    return sv_dsr_take_read(dsr, entry) ? 0 : ENOMEM;
}

static bool ends_with(const char *name, const char *ending) {
    const size_t n = strlen(name), n_ending = strlen(ending);
    return n >= n_ending && strcmp(name + n - n_ending, ending) == 0;
}

int sv_dsr_kept_read(sv_dsr_kept *k, sv_dsr *dsr) {
    int error = enter_folder(k);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    error = read_ended(k, dsr);
    const int copy = openat(k->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const files = copy >= 0 ? fdopendir(copy) : NULL;
    if (files == NULL && error == 0)
        error = errno;
    const struct dirent *file;
    while (error == 0 && (file = readdir(files)) != NULL) {
        if (ends_with(file->d_name, ".new"))
            error = wipe_file(k->folder, file->d_name);
        else if (ends_with(file->d_name, ".pending"))
            error = read_pending(k, file->d_name, dsr);
    }
    if (files != NULL)
        (void)closedir(files);
    else if (copy >= 0)
        (void)close(copy);
    return error;
}

/* ------------------------------------------------------------------ writing */

int sv_dsr_kept_add(sv_dsr_kept *k, const sv_dsr_entry *entry) {
    char name[NAME_BYTES], other[NAME_BYTES];
    char *const text = encode_entry(entry);
    if (text == NULL)
        return ENOMEM;
    (void)snprintf(name, sizeof name, "%s.pending", entry->id);
    (void)snprintf(other, sizeof other, "%s.new", entry->id);
    const int error = put_file(k->folder, name, other, text, strlen(text));
    sv_wipe_free(text, strlen(text));
    return error;
}

/* Adds lines for entries; after a failure there are none. */
static int append_ended(sv_dsr_kept *k, const sv_dsr_entry *entries, size_t n_entries) {
    const off_t before = lseek(k->ended, 0, SEEK_END);
    int error = before >= 0 ? 0 : errno;
    for (size_t i = 0; error == 0 && i < n_entries; i++) {
        char *const text = encode_entry(&entries[i]);
        error = text != NULL ? write_all(k->ended, text, strlen(text)) : ENOMEM;
        if (error == 0)
            error = write_all(k->ended, "\n", 1);
        free(text);
    }
    if (error == 0)
        error = sync_file(k->ended);
    if (error != 0 && before >= 0)
        (void)!ftruncate(k->ended, before);
    return error;
}

int sv_dsr_kept_end(sv_dsr_kept *k, const sv_dsr_entry *entries, size_t n_entries) {
    char name[NAME_BYTES];
    int error = append_ended(k, entries, n_entries);
    for (size_t i = 0; error == 0 && i < n_entries; i++) {
        (void)snprintf(name, sizeof name, "%s.pending", entries[i].id);
        error = wipe_file(k->folder, name);
    }
    return error != 0 ? error : sync_file(k->folder);
}

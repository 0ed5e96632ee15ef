/* The program `anyhook`.
 *
 *     anyhook run [--python PYTHON] HOOK.py [ARGUMENT ...]
 *
 * It runs a hook file warm, or else cold: it reads the event, sends it to the server of that hook
 * file, prints the reply and exits with its code. If no server answers, it becomes
 * `PYTHON HOOK.py ARGUMENT ...` with the same event on standard input.
 *
 * For everything else it becomes `anyhook-python`, which is installed next to it. The interpreter in
 * the first line of that script is the one that runs hook files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

extern char **environ;

#define MAGIC "AHK2"
#define HEAD 8
#define REPLY 11
#define RUN_HEAD (HEAD + 21) /* bytes of a request before its words */
#define PIPE_ROOM 4096 /* bytes that every pipe takes without a reader */
#define MAX_FRAME (64u * 1024 * 1024)
#define RETRY_DELAY 10 /* seconds until a server that did not start is started again */
#define SECOND 1000 /* milliseconds */
#define ACCEPT_TIMEOUT (1 * SECOND) /* in which a server accepts an event */
#define REPLY_TIMEOUT (3 * SECOND) /* in which a reply that has begun is read completely */
#define CHECK_INTERVAL (1 * SECOND) /* between two checks of the process that runs the hook */
#define TIMEOUT_SHARE 0.95 /* the rest is for a cold hook, which answers at once */
#define MAX_TIMEOUT 604800.0 /* seconds; no hook may take longer */
#define MAX_ACCEPTED 16 /* frames that a client reads for one event */
#define MIN_ELAPSED 50 /* milliseconds that are worth reporting to a cold hook */
#define FAILED 1 /* blocks nothing in any agent */
#define NOT_FOUND 127
#define USAGE 64
#define BUG 70
#define SERVER_CODE "from anyhook.worker.loader import main; main()"
#define PROJECT_SUFFIX "_PROJECT_DIR"
#define SIBLING "anyhook-python"
#define MAX_LINKS 40 /* links that are followed, as by the kernel */

static const char *const INTERPRETER_PREFIXES[] = {"PYTHON",  "LD_",     "DYLD_",
                                                   "LC_",     "MALLOC_", "__PYVENV"};
static const char *const INTERPRETER_VARIABLES[] = {"HOME", "LANG", "LANGUAGE", "TZ"};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct bytes {
    char *data;
    size_t size, room;
};

static void die(void) { _exit(BUG); }

static void append(struct bytes *to, const void *data, size_t size) {
    if (to->size + size > to->room) {
        size_t room = to->room ? to->room : 16384;
        while (room < to->size + size) room *= 2;
        to->data = realloc(to->data, room);
        if (!to->data) die();
        to->room = room;
    }
    if (size) memcpy(to->data + to->size, data, size);
    to->size += size;
}

static void append_word(struct bytes *to, const char *word) { append(to, word, strlen(word) + 1); }

static void put32(char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (char)(value >> (8 * i));
}

static uint32_t get32(const char *at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value |= (uint32_t)(unsigned char)at[i] << (8 * i);
    return value;
}

static int write_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

static void write_quietly(int fd, const char *data, size_t size) {
    if (write_all(fd, data, size) < 0) return;
}

static void read_all(int fd, struct bytes *to) {
    char chunk[65536];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        append(to, chunk, (size_t)n);
    }
}

/* -- cold: become the hook itself, with the event on standard input */

static int file_of(const struct bytes *payload) {
    int fd;
#ifdef __linux__
    fd = memfd_create("anyhook-event", 0);
#else
    char name[] = "/tmp/anyhook-event-XXXXXX";
    fd = mkstemp(name);
    if (fd >= 0) unlink(name);
#endif
    if (fd < 0) return -1;
    if (write_all(fd, payload->data, payload->size) < 0) {
        close(fd);
        return -1;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int pipe_of(const struct bytes *payload) {
    int ends[2];
    if (pipe(ends) < 0) return -1;
    if (write_all(ends[1], payload->data, payload->size) < 0) return -1;
    close(ends[1]);
    return ends[0];
}

/* The interpreter exits with 2 if it cannot open the file. Agents take that for a denial. */
static void check_hook_file(const char *path) {
    struct stat status;
    int result = stat(path, &status);
    if (!result && S_ISSOCK(status.st_mode)) {
        result = -1;
        errno = ENXIO;
    }
    if (!result && !access(path, R_OK)) return;
    if (errno == ENOENT || errno == ENOTDIR)
        fprintf(stderr, "anyhook run: hook file not found: %s\n", path);
    else
        fprintf(stderr, "anyhook run: hook file cannot be read: %s: %s\n", path, strerror(errno));
    _exit(FAILED);
}

/* a pipe that a process of its own fills: files may have no room (ulimit -f) */
static int fed_pipe_of(const struct bytes *payload) {
    int ends[2];
    if (pipe(ends) < 0) return -1;
    pid_t feeder = fork();
    if (feeder < 0) return -1;
    if (feeder == 0) {
        close(ends[0]);
        write_quietly(ends[1], payload->data, payload->size);
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

/* The signals that are ignored while this program runs, and again by the hook if they were before. */
static void (*before_pipe)(int), (*before_size)(int);

static void ignore_write_signals(void) {
    before_pipe = signal(SIGPIPE, SIG_IGN);
    before_size = signal(SIGXFSZ, SIG_IGN);
}

static void restore_write_signals(void) {
    signal(SIGPIPE, before_pipe);
    signal(SIGXFSZ, before_size);
}

static void cold(char **argv, const struct bytes *payload) {
    check_hook_file(argv[1]);
    if (payload) {
        int fd = payload->size <= PIPE_ROOM ? pipe_of(payload) : file_of(payload);
        if (fd < 0 && payload->size > PIPE_ROOM) fd = fed_pipe_of(payload);
        if (fd > 0) {
            dup2(fd, 0);
            close(fd);
        }
        if (fd < 0) { /* the hook must not run on half an event */
            fprintf(stderr, "anyhook run: the event cannot be handed on: %s\n", strerror(errno));
            _exit(BUG);
        }
    }
    restore_write_signals();
    execvp(argv[0], argv);
    fprintf(stderr, "anyhook run: %s: %s\n", argv[0], strerror(errno));
    _exit(NOT_FOUND);
}

/* -- addresses */

static int is_watched(const char *entry) {
    const char *end = strchr(entry, '=');
    if (!end) return 0;
    size_t length = (size_t)(end - entry), suffix = strlen(PROJECT_SUFFIX);
    if (length >= suffix && !strncmp(end - suffix, PROJECT_SUFFIX, suffix)) return 1;
    for (size_t i = 0; i < COUNT(INTERPRETER_PREFIXES); i++)
        if (!strncmp(entry, INTERPRETER_PREFIXES[i], strlen(INTERPRETER_PREFIXES[i]))) return 1;
    for (size_t i = 0; i < COUNT(INTERPRETER_VARIABLES); i++)
        if (strlen(INTERPRETER_VARIABLES[i]) == length &&
            !strncmp(entry, INTERPRETER_VARIABLES[i], length))
            return 1;
    return 0;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **watched(void) {
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **entries = malloc((count + 1) * sizeof *entries);
    if (!entries) die();
    for (size_t i = 0; i < count; i++)
        if (is_watched(environ[i])) entries[kept++] = environ[i];
    qsort(entries, kept, sizeof *entries, by_bytes);
    entries[kept] = NULL;
    return entries;
}

static uint64_t mix(uint64_t number, const char *text) {
    for (const char *at = text;; at++) {
        number = (number ^ (unsigned char)*at) * 0x100000001B3ULL;
        if (!*at) return number;
    }
}

/* the mounts of this process: elsewhere, a path names another file */
static const char *filesystem_view(void) {
    static char text[160];
    char mounts[64];
    struct stat root;
    ssize_t n = readlink("/proc/self/ns/mnt", mounts, sizeof mounts - 1);
    mounts[n > 0 ? n : 0] = 0;
    if (stat("/", &root) < 0) return "";
    snprintf(text, sizeof text, "%s %llu %llu", mounts, (unsigned long long)root.st_dev,
             (unsigned long long)root.st_ino);
    return text;
}

static char *joined(const char *directory, const char *name) {
    char *path = malloc(strlen(directory) + strlen(name) + 2);
    if (!path) die();
    sprintf(path, "%s/%s", directory, name);
    return path;
}

/* a path as the interpreter makes it absolute: joined, not normalised */
static char *absolute(const char *path, const char *cwd) {
    char *copy = path[0] == '/' ? strdup(path) : joined(cwd, path);
    if (!copy) die();
    return copy;
}

static char *which(const char *program, const char *cwd) {
    struct stat status;
    if (strchr(program, '/')) return absolute(program, cwd);
    const char *path = getenv("PATH");
    char *directories = strdup(path && *path ? path : "/usr/bin:/bin");
    for (char *at = directories, *next; at; at = next) {
        next = strchr(at, ':');
        if (next) *next++ = 0;
        char *candidate = joined(*at ? at : cwd, program);
        if (!access(candidate, X_OK) && !stat(candidate, &status) && !S_ISDIR(status.st_mode))
            return candidate;
    }
    return strdup(program);
}

static char *runtime_directory(void) {
    static char path[64];
    struct stat status;
    char *configured = getenv("ANYHOOK_RUNTIME_DIR");
    if (configured && *configured) {
        if (!(configured = strdup(configured))) die();
        size_t end = strlen(configured);
        while (end > 1 && configured[end - 1] == '/') configured[--end] = 0;
        return configured[0] == '/' ? configured : NULL;
    }
    snprintf(path, sizeof path, "/run/user/%u", (unsigned)getuid());
    if (!stat(path, &status) && status.st_uid == getuid())
        strcat(path, "/anyhook");
    else
        snprintf(path, sizeof path, "/tmp/anyhook-%u", (unsigned)getuid());
    return path;
}

static int is_private(const char *directory) {
    struct stat status;
    return !lstat(directory, &status) && S_ISDIR(status.st_mode) && status.st_uid == getuid() &&
           !(status.st_mode & 077);
}

/* -- starting a server in the background */

static int take_lock(const char *directory, const char *path) {
    struct stat status;
    if (mkdir(directory, 0700) < 0 && errno != EEXIST) return -1;
    if (!is_private(directory)) return -1;
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) return -1;
    if (!flock(lock, LOCK_EX | LOCK_NB) && !fstat(lock, &status)) {
        long age = (long)(time(NULL) - status.st_mtime);
        if (!(status.st_size && age >= 0 && age < RETRY_DELAY) && pwrite(lock, "s", 1, 0) == 1)
            return lock;
    }
    close(lock);
    return -1;
}

/* The environment with which the server loads the hook file comes on standard input: a process
 * that stays must not show it in /proc. The event shows the server which agent runs the hook. */
static void become_server(const char *python, char *base, int lock, struct bytes *request,
                          const struct bytes *payload) {
    append(request, payload->data, payload->size);
    int null = open("/dev/null", O_RDWR), kept = dup(lock), input = file_of(request);
    if (input < 0) _exit(NOT_FOUND);
    dup2(input, 0);
    for (int fd = 1; fd < 3; fd++) dup2(null, fd);
    dup2(kept, 3);
    for (int fd = 4; fd < 4096; fd++) close(fd);
    if (chdir("/") < 0) _exit(NOT_FOUND);
    char *argv[] = {(char *)python, "-c", SERVER_CODE, base, NULL};
    execve(python, argv, watched());
    _exit(NOT_FOUND);
}

static void start_server(const char *python, const char *directory, char *base,
                         struct bytes *request, const struct bytes *payload) {
    char *path = malloc(strlen(base) + 6);
    if (!path) die();
    sprintf(path, "%s.lock", base);
    int lock = take_lock(directory, path);
    if (lock < 0) return;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) become_server(python, base, lock, request, payload);
        _exit(0);
    }
    if (child > 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    close(lock);
}

/* -- one call */

static long long started, give_up; /* milliseconds of the clock below */

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * SECOND + time.tv_nsec / 1000000;
}

/* the agent's timeout in seconds, if the command names it */
static double timeout_of(char **words) {
    double timeout = MAX_TIMEOUT;
    for (; *words; words++) {
        const char *text = NULL;
        if (!strncmp(*words, "--timeout=", 10)) text = *words + 10;
        if (!strcmp(*words, "--timeout") && words[1]) text = words[1];
        if (!text) continue;
        char *end;
        double value = strtod(text, &end);
        if (end != text && !*end && value > 0 && value < MAX_TIMEOUT) timeout = value;
    }
    return timeout;
}

/* whether there is something to read; after the deadline only what has arrived already counts */
static int is_readable(int fd, long long timeout) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    long long left = give_up - now();
    int limit = (int)(left < timeout ? left : timeout);
    int count;
    do count = poll(&one, 1, limit > 0 ? limit : 0);
    while (count < 0 && errno == EINTR);
    return count > 0;
}

/* whether a process is stopped or a zombie; one that cannot be seen counts as neither */
static int is_stopped(uint32_t pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0) return 0;
    text[size] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] && strchr("TZX", end[2]);
}

/* Wait until the process that runs the hook replies, but no longer than the agent does. */
static int wait_for_reply(int link, uint32_t pid) {
    int checks_failed = 0;
    while (!is_readable(link, CHECK_INTERVAL)) {
        checks_failed = is_stopped(pid) ? checks_failed + 1 : 0;
        if (checks_failed == 2 || now() >= give_up) return -1;
    }
    return 0;
}

static int connect_to(const char *path, int *is_absent) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path) return -1;
    strcpy(to.sun_path, path);
    int link = socket(AF_UNIX, SOCK_STREAM, 0);
    if (link < 0) return -1;
    fcntl(link, F_SETFD, FD_CLOEXEC);
    struct timeval limit = {.tv_sec = ACCEPT_TIMEOUT / SECOND};
    setsockopt(link, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(link, (struct sockaddr *)&to, sizeof to) < 0) {
        *is_absent = errno == ENOENT || errno == ECONNREFUSED;
        close(link);
        return -1;
    }
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(link, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != getuid()) {
        close(link);
        return -1;
    }
#else
    uid_t uid;
    gid_t gid;
    if (getpeereid(link, &uid, &gid) < 0 || uid != getuid()) {
        close(link);
        return -1;
    }
#endif
    return link;
}

static int send_request(int link, struct bytes *frame, const struct bytes *payload) {
    struct iovec parts[] = {{frame->data, frame->size}, {payload->data, payload->size}};
    ssize_t sent;
    do sent = writev(link, parts, payload->size ? 2 : 1);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) return -1;
    for (int i = 0; i < 2; i++) {
        size_t done = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
        if (write_all(link, (char *)parts[i].iov_base + done, parts[i].iov_len - done) < 0)
            return -1;
        sent -= (ssize_t)done;
    }
    return 0;
}

static int read_exactly(int fd, char *to, size_t size, long long until) {
    while (size) {
        long long left = until - now();
        if (!is_readable(fd, left > 0 ? left : 0)) return -1;
        ssize_t n = read(fd, to, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        to += n;
        size -= (size_t)n;
    }
    return 0;
}

static char *read_frame(int link, uint32_t *size, long long timeout) {
    char head[HEAD];
    long long until = now() + timeout;
    if (read_exactly(link, head, HEAD, until) < 0 || memcmp(head, MAGIC, 4)) return NULL;
    *size = get32(head + 4);
    if (*size < 1 || *size > MAX_FRAME) return NULL;
    char *body = malloc(*size);
    return body && !read_exactly(link, body, *size, until) ? body : NULL;
}

static char *read_reply(int link, uint32_t *size) {
    char *reply = read_frame(link, size, ACCEPT_TIMEOUT);
    for (int i = 0; i < MAX_ACCEPTED && reply && reply[0] == 'A'; i++) {
        uint32_t pid = *size == 5 ? get32(reply + 1) : 0;
        if (pid && wait_for_reply(link, pid) < 0) return NULL;
        free(reply);
        reply = read_frame(link, size, REPLY_TIMEOUT);
    }
    return reply;
}

static uint64_t ignored_signals(void) {
    uint64_t ignored = 0;
    struct sigaction action;
    for (int number = 1; number < NSIG && number <= 64; number++)
        if (!sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN)
            ignored |= (uint64_t)1 << (number - 1);
    return ignored;
}

/* Write the request up to its payload, which is sent separately: an event may be large. */
static void pack_request(struct bytes *frame, char **words, const char *cwd, uint64_t ignored,
                         size_t payload) {
    char head[RUN_HEAD] = MAGIC;
    append(frame, head, sizeof head);
    append_word(frame, cwd);
    for (; *words; words++) append_word(frame, *words);
    size_t size = frame->size - sizeof head;
    for (char **entry = environ; *entry; entry++)
        if (strchr(*entry, '=')) append_word(frame, *entry);
    size_t env = frame->size - sizeof head - size;
    mode_t mask = umask(077);
    umask(mask);
    put32(frame->data + 4, (uint32_t)(frame->size + payload - HEAD));
    frame->data[HEAD] = 'R';
    put32(frame->data + HEAD + 1, (uint32_t)mask);
    put32(frame->data + HEAD + 5, (uint32_t)ignored);
    put32(frame->data + HEAD + 9, (uint32_t)(ignored >> 32));
    put32(frame->data + HEAD + 13, (uint32_t)size);
    put32(frame->data + HEAD + 17, (uint32_t)env);
}

static int is_late; /* whether the hook has used all of its time */

static void ask(int link, struct bytes *frame, const struct bytes *payload) {
    if (frame->size + payload->size > MAX_FRAME) return;
    if (send_request(link, frame, payload) < 0) return;

    uint32_t size;
    char *reply = read_reply(link, &size);
    is_late = reply && reply[0] == 'L';
    if (!reply || reply[0] != 'D' || size < REPLY) return;
    uint32_t err = get32(reply + 3), lost = get32(reply + 7), texts = size - REPLY;
    if (err > texts || lost > texts - err) return;
    char *text = reply + REPLY;
    write_quietly(2, text, err);
    if (write_all(1, text + err + lost, texts - err - lost) < 0) {
        write_quietly(2, text + err, lost); /* the agent does not read: the code can still deny */
        _exit((unsigned char)reply[2]);
    }
    _exit((unsigned char)reply[1]);
}

/* A cold hook gets the rest of its timeout instead of all of it again. */
static void note_elapsed(void) {
    long long elapsed = is_late ? (long long)MAX_TIMEOUT * SECOND : now() - started;
    char text[32];
    if (elapsed < MIN_ELAPSED) return;
    snprintf(text, sizeof text, "%lld.%03d", elapsed / SECOND, (int)(elapsed % SECOND));
    setenv("ANYHOOK_ELAPSED", text, 1);
}

static void run(char **words) {
    unsetenv("ANYHOOK_ELAPSED");
    uint64_t ignored = ignored_signals();
    ignore_write_signals();
    char *mode = getenv("ANYHOOK_WORKER");
    if ((mode && !strcmp(mode, "off")) || isatty(0) || fcntl(1, F_GETFD) < 0 ||
        fcntl(2, F_GETFD) < 0)
        cold(words, NULL);
    struct bytes payload = {0};
    read_all(0, &payload);
    started = now();
    give_up = started + (long long)(timeout_of(words + 2) * TIMEOUT_SHARE * SECOND);
    char cwd[PATH_MAX], *directory = runtime_directory();
    if (!directory || !getcwd(cwd, sizeof cwd)) cold(words, &payload);
    char *python = which(words[0], cwd), *file = absolute(words[1], cwd);
    char *base = malloc(strlen(directory) + 18), *path = malloc(strlen(directory) + 24);
    if (!python || !base || !path) die();
    uint64_t digest = mix(mix(mix(0xCBF29CE484222325ULL, MAGIC), python), file);
    digest = mix(digest, filesystem_view());
    for (char **entry = watched(); *entry; entry++) digest = mix(digest, *entry);
    sprintf(base, "%s/%016llx", directory, (unsigned long long)digest);
    sprintf(path, "%s.sock", base);
    struct stat status;
    int is_ours = is_private(directory);
    int is_absent = !is_ours && lstat(directory, &status) < 0 && errno == ENOENT;
    int link = is_ours ? connect_to(path, &is_absent) : -1;
    struct bytes request = {0};
    if (link >= 0) {
        pack_request(&request, words + 1, cwd, ignored, payload.size);
        ask(link, &request, &payload);
        close(link);
        note_elapsed();
    } else if (is_absent) {
        pack_request(&request, words + 1, cwd, 0, payload.size);
        start_server(python, directory, base, &request, &payload);
    }
    cold(words, &payload);
}

/* -- the program */

/* The path of this program without links; NULL if the system does not report it. */
static const char *own_path(void) {
    static char path[PATH_MAX];
#ifdef __APPLE__
    char reported[PATH_MAX];
    uint32_t size = sizeof reported;
    return _NSGetExecutablePath(reported, &size) ? NULL : realpath(reported, path);
#else
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size < 0) return NULL;
    path[size] = 0;
    return path;
#endif
}

/* The path of a file in the directory of another one. */
static char *next_to(const char *file, const char *name) {
    const char *end = strrchr(file, '/');
    if (name[0] == '/' || !end) return strdup(name);
    size_t size = (size_t)(end - file) + 1;
    char *path = malloc(size + strlen(name) + 1);
    if (!path) die();
    memcpy(path, file, size);
    strcpy(path + size, name);
    return path;
}

/* Return `anyhook-python`, which is next to this program or to a link by which it was started: an
 * installer may have linked the program to a file elsewhere. */
static char *find_sibling(const char *name) {
    const char *own = own_path();
    char cwd[PATH_MAX], target[PATH_MAX], *sibling = NULL;
    if (own && !access(sibling = next_to(own, SIBLING), F_OK)) return sibling;
    char *path = getcwd(cwd, sizeof cwd) ? which(name, cwd) : strdup(name);
    for (int i = 0; i < MAX_LINKS && path; i++) {
        if (!access(sibling = next_to(path, SIBLING), F_OK)) return sibling;
        ssize_t size = readlink(path, target, sizeof target - 1);
        if (size < 0) break;
        target[size] = 0;
        path = next_to(path, target);
    }
    fprintf(stderr,
            "anyhook: %s is missing, which is installed next to this program; install anyhook "
            "again: pip install --force-reinstall anyhook\n",
            own ? next_to(own, SIBLING) : SIBLING);
    _exit(NOT_FOUND);
}

/* The interpreter in the first line of a script; NULL if it is not the path of a Python. */
static char *interpreter_of(const char *script) {
    static char line[512];
    int fd = open(script, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    close(fd);
    if (size < 0) return NULL;
    line[size] = 0;
    if (strncmp(line, "#!", 2)) return NULL;
    char *path = line + 2 + strspn(line + 2, " \t"), *end = path + strcspn(path, " \t\r\n");
    if (!*end) return NULL; /* the line is too long, and may be cut */
    *end = 0;
    return path[0] == '/' && strstr(strrchr(path, '/'), "python") ? path : NULL;
}

int main(int argc, char **argv) {
    int is_run = argc > 2 && !strcmp(argv[1], "run");
    if (is_run && argc > 4 && !strcmp(argv[2], "--python") && argv[4][0] != '-') run(argv + 3);
    if (is_run && argc > 3 && !strncmp(argv[2], "--python=", 9) && argv[3][0] != '-') {
        argv[2] += 9;
        run(argv + 2);
    }
    char *sibling = find_sibling(argc ? argv[0] : SIBLING);
    char *python = is_run && argv[2][0] != '-' ? interpreter_of(sibling) : NULL;
    if (python) {
        argv[1] = python;
        run(argv + 1);
    }
    execv(sibling, argv);
    fprintf(stderr, "anyhook: %s: %s\n", sibling, strerror(errno));
    return NOT_FOUND;
}

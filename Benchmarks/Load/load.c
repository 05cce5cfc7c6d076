// A small HTTP/1.1 load driver: one thread, one epoll, keep-alive connections, bounded in requests and in time.
//
//   load [options] http://host:port/path
//   -n requests (default 1000)  -c connections (default 1)  -t most seconds (default 60)
//   -m method (default GET)  -b file with the request body  -H "Name: value" (repeatable)
//   -r requests/s: never more often than this (default: as fast as the answers come)
//
// Each connection has one request under way. A latency runs from writing the request to the last byte of its answer.
// Prints one line of key=value; the exit status is 1 when an answer was no 2xx or the time ran out.
// Build: gcc -O2 -Wall -Wextra -o load load.c
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum phase { HEAD, LENGTH, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER };

struct connection {
    int fd; // -1 while it is not open
    int busy;
    double sent_at;
    size_t written;
    enum phase phase;
    int status;
    long remaining;
    char line[8192];
    size_t line_length;
    int closes;
};

static const char *host = "127.0.0.1", *port = "80", *path = "/", *method = "GET", *body_file;
static char headers[8192], *request;
static size_t request_length;
static long total = 1000, started, finished, good, bad, reconnects;
static int connections = 1, epoll;
static double limit = 60, rate;
static double *latencies;
static struct addrinfo *address;
static int first_bad_status;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void parse_url(char *url) {
    if (strncmp(url, "http://", 7)) {
        fprintf(stderr, "load: only http:// URLs\n");
        exit(64);
    }
    char *name = url + 7, *slash = strchr(name, '/');
    path = slash ? strdup(slash) : "/";
    if (slash)
        *slash = 0;
    char *colon = strrchr(name, ':');
    if (colon) {
        port = strdup(colon + 1);
        *colon = 0;
    }
    host = name;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    if (getaddrinfo(host, port, &hints, &address)) {
        fprintf(stderr, "load: %s does not resolve\n", host);
        exit(64);
    }
    struct sockaddr_in *in = (struct sockaddr_in *)address->ai_addr;
    if ((ntohl(in->sin_addr.s_addr) >> 24) != 127) {
        fprintf(stderr, "load: loopback addresses only\n");
        exit(64);
    }
}

static void build_request(void) {
    char *body = NULL;
    long length = 0;
    if (body_file) {
        FILE *file = fopen(body_file, "rb");
        if (!file)
            fail(body_file);
        fseek(file, 0, SEEK_END);
        length = ftell(file);
        rewind(file);
        body = malloc(length + 1);
        if (fread(body, 1, length, file) != (size_t)length)
            fail(body_file);
        fclose(file);
    }
    request = malloc(strlen(path) + sizeof headers + length + 512);
    int n = sprintf(request, "%s %s HTTP/1.1\r\nHost: %s:%s\r\n%s", method, path, host, port, headers);
    if (body)
        n += sprintf(request + n, "Content-Length: %ld\r\n", length);
    n += sprintf(request + n, "\r\n");
    if (body)
        memcpy(request + n, body, length);
    request_length = n + length;
    free(body);
}

static void open_connection(struct connection *c) {
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, address->ai_addr, address->ai_addrlen) < 0)
        fail("connect");
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
    c->busy = 0;
}

static void close_connection(struct connection *c) {
    close(c->fd);
    c->fd = -1;
    reconnects++;
}

static void want(struct connection *c, unsigned events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event);
}

static void write_more(struct connection *c) {
    while (c->written < request_length) {
        ssize_t n =
            send(c->fd, request + c->written, request_length - c->written, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EAGAIN) {
                want(c, EPOLLIN | EPOLLOUT);
                return;
            }
            fail("send");
        }
        c->written += n;
    }
    want(c, EPOLLIN);
}

static void send_request(struct connection *c) {
    // Not before: a server ends connections that say nothing.
    if (c->fd < 0)
        open_connection(c);
    c->busy = 1;
    c->phase = HEAD;
    c->line_length = 0;
    c->written = 0;
    c->closes = 0;
    c->sent_at = now();
    started++;
    write_more(c);
}

static void answered(struct connection *c) {
    latencies[finished++] = now() - c->sent_at;
    if (c->status >= 200 && c->status < 300) {
        good++;
    } else {
        if (!bad)
            first_bad_status = c->status;
        bad++;
    }
    c->busy = 0;
    if (c->closes)
        close_connection(c);
}

static void head_complete(struct connection *c) {
    c->line[c->line_length] = 0;
    c->status = atoi(c->line + 9);
    if (c->status == 100) {
        c->line_length = 0;
        return;
    }
    long length = -1;
    int chunked = 0;
    for (char *line = strstr(c->line, "\r\n"); line && line[2]; line = strstr(line + 2, "\r\n")) {
        if (!strncasecmp(line + 2, "content-length:", 15))
            length = atol(line + 17);
        if (!strncasecmp(line + 2, "transfer-encoding:", 18))
            chunked = 1;
        if (!strncasecmp(line + 2, "connection: close", 17))
            c->closes = 1;
    }
    c->line_length = 0;
    if (chunked) {
        c->phase = CHUNK_SIZE;
    } else if (length > 0) {
        c->phase = LENGTH;
        c->remaining = length;
    } else {
        answered(c);
    }
}

// Adds a byte to the line that is being read; true at its end.
static int line_complete(struct connection *c, char byte) {
    if (c->line_length + 1 >= sizeof c->line) {
        fprintf(stderr, "load: the answer's head is too large\n");
        exit(2);
    }
    c->line[c->line_length++] = byte;
    return byte == '\n';
}

static void read_bytes(struct connection *c, char *bytes, size_t count) {
    size_t i = 0;
    while (i < count && c->busy) {
        if (c->phase == LENGTH || c->phase == CHUNK_DATA) {
            size_t take = count - i < (size_t)c->remaining ? count - i : (size_t)c->remaining;
            i += take;
            c->remaining -= take;
            if (c->remaining == 0) {
                if (c->phase == LENGTH)
                    answered(c);
                else
                    c->phase = CHUNK_END;
            }
            continue;
        }
        if (!line_complete(c, bytes[i++]))
            continue;
        switch (c->phase) {
        case HEAD:
            if (c->line_length >= 4 && !memcmp(c->line + c->line_length - 4, "\r\n\r\n", 4))
                head_complete(c);
            break;
        case CHUNK_SIZE:
            c->line[c->line_length] = 0;
            c->remaining = strtol(c->line, NULL, 16);
            c->phase = c->remaining ? CHUNK_DATA : TRAILER;
            c->line_length = 0;
            break;
        case CHUNK_END:
            c->phase = CHUNK_SIZE;
            c->line_length = 0;
            break;
        default: {
            int empty = c->line_length == 2;
            c->line_length = 0;
            if (empty)
                answered(c);
        }
        }
    }
}

static void readable(struct connection *c) {
    static char buffer[65536];
    ssize_t n = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0 && c->busy) {
        read_bytes(c, buffer, n);
        return;
    }
    if (n < 0 && errno == EAGAIN)
        return;
    if (c->busy) {
        fprintf(stderr, "load: the server closed a connection before its answer was complete\n");
        exit(2);
    }
    // The server ends an idle connection, with a last word (408) or without.
    close_connection(c);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void parse_options(int count, char **arguments) {
    int option;
    while ((option = getopt(count, arguments, "n:c:t:m:b:H:r:")) != -1) {
        switch (option) {
        case 'n': total = atol(optarg); break;
        case 'c': connections = atoi(optarg); break;
        case 't': limit = atof(optarg); break;
        case 'm': method = optarg; break;
        case 'b': body_file = optarg; break;
        case 'r': rate = atof(optarg); break;
        case 'H':
            if (strlen(headers) + strlen(optarg) + 3 > sizeof headers)
                exit(64);
            strcat(strcat(headers, optarg), "\r\n");
            break;
        default: exit(64);
        }
    }
    if (optind != count - 1 || total < 1 || connections < 1) {
        fprintf(stderr, "usage: load [-n N] [-c N] [-t S] [-m METHOD] [-b FILE] [-H HEADER] [-r RATE] URL\n");
        exit(64);
    }
    parse_url(arguments[optind]);
}

int main(int count, char **arguments) {
    parse_options(count, arguments);
    build_request();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    latencies = calloc(total, sizeof *latencies);
    struct connection *all = calloc(connections, sizeof *all);
    for (int i = 0; i < connections; i++)
        all[i].fd = -1;
    double begin = now();
    struct epoll_event events[128];
    while (finished < total && now() - begin < limit) {
        double wait = 0.1;
        for (int i = 0; i < connections && started < total; i++) {
            if (all[i].busy)
                continue;
            double due = rate > 0 ? begin + started / rate - now() : 0;
            if (due > 0) {
                wait = due < wait ? due : wait;
                break;
            }
            send_request(&all[i]);
        }
        struct timespec time = {(time_t)wait, (long)((wait - (time_t)wait) * 1e9)};
        int n = epoll_pwait2(epoll, events, 128, &time, NULL);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT)
                write_more(c);
            if (c->fd >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
                readable(c);
        }
    }
    double seconds = now() - begin;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    qsort(latencies, finished, sizeof *latencies, ascending);
    long middle = finished / 2, tail = finished * 99 / 100;
    printf("requests=%ld ok=%ld failed=%ld reconnects=%ld seconds=%.4f rate=%.1f cpu_us=%.1f p50_ms=%.3f p99_ms=%.3f",
           finished, good, bad, reconnects, seconds, finished / seconds, finished ? cpu / finished * 1e6 : 0,
           finished ? latencies[middle] * 1e3 : 0, finished ? latencies[tail] * 1e3 : 0);
    if (bad)
        printf(" first_bad_status=%d", first_bad_status);
    printf("\n");
    return finished < total || bad ? 1 : 0;
}

// Measures libcurl on this machine, in one thread of C.
//
//   curlbench [options] URL
//   -n fetches  -c in flight  -1 force HTTP/1.1  -2 ask for HTTP/2 (-m most connections, default 1)
//   -d socket|poll  curl_multi_socket_action + epoll (default), or curl_multi_poll + curl_multi_perform
//   -r  reuse the easy handles (default: a new one each fetch)  -f fresh connection for each fetch
//   -k  no certificate verification  -C file: verify against this CA bundle  -P: CURLOPT_CAPATH unset
//   -S  share TLS sessions and DNS among the handles  -b receive buffer in bytes
//   -i  seconds: open -c transfers, hold them, and print memory per transfer and the CPU spent holding them
//   -o  bulk: write the body to this file (- = count only)  -u bulk: PUT this file  -R fdatasync at the end
//   -D  with -o: O_DIRECT, 1 MiB aligned buffer
//   -w  pids, comma separated, whose CPU time is reported per fetch too (the origin's worker)
//
// Build: gcc -O2 -o curlbench curlbench.c -lcurl
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static void cpu(double *u, double *s) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    *u = r.ru_utime.tv_sec + r.ru_utime.tv_usec / 1e6;
    *s = r.ru_stime.tv_sec + r.ru_stime.tv_usec / 1e6;
}
static long st(const char *k) {
    char l[256];
    long v = 0;
    FILE *f = fopen("/proc/self/status", "r");
    size_t n = strlen(k);
    while (fgets(l, sizeof l, f))
        if (!strncmp(l, k, n) && l[n] == ':') {
            v = atol(l + n + 1);
            break;
        }
    fclose(f);
    return v;
}
static double pidcpu(const char *list) {
    double t = 0;
    char b[256];
    strncpy(b, list, 255);
    b[255] = 0;
    for (char *p = strtok(b, ","); p; p = strtok(0, ",")) {
        char fn[64], l[1024];
        snprintf(fn, 64, "/proc/%s/stat", p);
        FILE *f = fopen(fn, "r");
        if (!f)
            continue;
        if (fgets(l, 1024, f)) {
            char *q = strrchr(l, ')');
            unsigned long u = 0, s = 0;
            sscanf(q + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &u, &s);
            t += (u + s) / (double)sysconf(_SC_CLK_TCK);
        }
        fclose(f);
    }
    return t;
}

static int nopath, share_;
static CURLSH *sh;
static const char *cafile, *url, *watch, *driver = "socket", *outf, *upf;
static long total = 100000;
static int conc = 1, h2, h1, insecure, reuse, fresh, maxconn = 1, durable;
static long bufsz;
static double idle;
static CURLM *m;
static long started, finished, failed, bytes, newconns;
static double *lat;
typedef struct {
    CURL *e;
    double t0;
    char *body;
    size_t len, cap;
    char hdr[2048];
    size_t hlen;
} Job;
static Job *jobs;
static int outfd = -1, direct;
static char *dbuf;
static size_t dn;
#define DSZ (1 << 20)
static size_t wr(char *p, size_t s, size_t n, void *u) {
    Job *j = u;
    n *= s;
    bytes += n;
    if (outf) {
        if (outfd >= 0 && direct) {
            size_t o = 0;
            while (o < n) {
                size_t k = n - o < DSZ - dn ? n - o : DSZ - dn;
                memcpy(dbuf + dn, p + o, k);
                dn += k;
                o += k;
                if (dn == DSZ) {
                    if (write(outfd, dbuf, DSZ) != DSZ)
                        return 0;
                    dn = 0;
                }
            }
            return n;
        }
        if (outfd >= 0) {
            size_t d = 0;
            while (d < n) {
                ssize_t k = write(outfd, p + d, n - d);
                if (k < 0)
                    return 0;
                d += k;
            }
        }
        return n;
    }
    if (j->len + n > j->cap) {
        j->cap = (j->len + n) * 2;
        j->body = realloc(j->body, j->cap);
    }
    memcpy(j->body + j->len, p, n);
    j->len += n;
    return n;
}
static size_t hd(char *p, size_t s, size_t n, void *u) {
    Job *j = u;
    n *= s;
    if (j->hlen + n < sizeof j->hdr) {
        memcpy(j->hdr + j->hlen, p, n);
        j->hlen += n;
    }
    return n;
}
static size_t rd(char *p, size_t s, size_t n, void *u) {
    ssize_t k = read(*(int *)u, p, s * n);
    return k < 0 ? CURL_READFUNC_ABORT : (size_t)k;
}
static void start(Job *j) {
    if (!reuse || !j->e) {
        j->e = curl_easy_init();
    } else
        curl_easy_reset(j->e);
    CURL *e = j->e;
    j->len = 0;
    j->hlen = 0;
    j->t0 = now();
    started++;
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_easy_setopt(e, CURLOPT_PRIVATE, j);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, wr);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, j);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, hd);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, j);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, 30000L);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, idle > 0 || outf || upf ? 3600000L : 60000L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                     h2   ? CURL_HTTP_VERSION_2TLS
                     : h1 ? CURL_HTTP_VERSION_1_1
                          : CURL_HTTP_VERSION_NONE);
    if (h2)
        curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
    if (insecure) {
        curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (cafile) {
        curl_easy_setopt(e, CURLOPT_CAINFO, cafile);
        if (nopath)
            curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
    }
    if (sh)
        curl_easy_setopt(e, CURLOPT_SHARE, sh);
    if (bufsz)
        curl_easy_setopt(e, CURLOPT_BUFFERSIZE, bufsz);
    if (fresh) {
        curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
    }
    if (upf) {
        static int fd;
        struct stat sb;
        fd = open(upf, O_RDONLY);
        fstat(fd, &sb);
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(e, CURLOPT_READFUNCTION, rd);
        curl_easy_setopt(e, CURLOPT_READDATA, &fd);
        curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)sb.st_size);
        if (bufsz)
            curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, bufsz);
    }
    curl_multi_add_handle(m, e);
}
static void reap(void) {
    CURLMsg *g;
    int q;
    while ((g = curl_multi_info_read(m, &q))) {
        if (g->msg != CURLMSG_DONE)
            continue;
        Job *j;
        long code = 0, nc = 0;
        curl_easy_getinfo(g->easy_handle, CURLINFO_PRIVATE, &j);
        curl_easy_getinfo(g->easy_handle, CURLINFO_RESPONSE_CODE, &code);
        curl_easy_getinfo(g->easy_handle, CURLINFO_NUM_CONNECTS, &nc);
        newconns += nc;
        if (g->data.result != CURLE_OK || code != 200) {
            if (!failed)
                fprintf(stderr, "first failure: %d %s code %ld\n", g->data.result, curl_easy_strerror(g->data.result),
                        code);
            failed++;
        }
        lat[finished++] = now() - j->t0;
        curl_multi_remove_handle(m, j->e);
        if (!reuse) {
            curl_easy_cleanup(j->e);
            j->e = 0;
        }
        if (started < total)
            start(j);
    }
}
static int ep;
static double timer_at = -1;
static int sockcb(CURL *e, curl_socket_t s, int what, void *u, void *sp) {
    (void)e;
    (void)u;
    struct epoll_event ev = {0};
    ev.data.fd = s;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(ep, EPOLL_CTL_DEL, s, &ev);
        return 0;
    }
    ev.events = ((what & CURL_POLL_IN) ? EPOLLIN : 0) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0);
    if (!sp) {
        if (epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) < 0 && errno == EEXIST)
            epoll_ctl(ep, EPOLL_CTL_MOD, s, &ev);
        curl_multi_assign(m, s, (void *)1);
    } else if (epoll_ctl(ep, EPOLL_CTL_MOD, s, &ev) < 0 && errno == ENOENT)
        epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev);
    return 0;
}
static int tmcb(CURLM *mm, long ms, void *u) {
    (void)mm;
    (void)u;
    timer_at = ms < 0 ? -1 : now() + ms / 1e3;
    return 0;
}
static int cmp(const void *a, const void *b) {
    double x = *(double *)a, y = *(double *)b;
    return x < y ? -1 : x > y;
}
int main(int ac, char **av) {
    int o;
    while ((o = getopt(ac, av, "d:n:c:12krfm:b:i:w:o:u:RDC:PS")) != -1)
        switch (o) {
        case 'd':
            driver = optarg;
            break;
        case 'n':
            total = atol(optarg);
            break;
        case 'c':
            conc = atoi(optarg);
            break;
        case '2':
            h2 = 1;
            break;
        case '1':
            h1 = 1;
            break;
        case 'k':
            insecure = 1;
            break;
        case 'r':
            reuse = 1;
            break;
        case 'f':
            fresh = 1;
            break;
        case 'm':
            maxconn = atoi(optarg);
            break;
        case 'b':
            bufsz = atol(optarg);
            break;
        case 'i':
            idle = atof(optarg);
            break;
        case 'w':
            watch = optarg;
            break;
        case 'o':
            outf = optarg;
            break;
        case 'u':
            upf = optarg;
            break;
        case 'R':
            durable = 1;
            break;
        case 'D':
            direct = 1;
            break;
        case 'C':
            cafile = optarg;
            break;
        case 'P':
            nopath = 1;
            break;
        case 'S':
            share_ = 1;
            break;
        default:
            return 2;
        }
    url = av[optind];
    if (!url)
        return 2;
    if (idle > 0 || outf || upf)
        if (idle <= 0)
            total = conc;
    if (idle > 0)
        total = conc;
    if (outf && strcmp(outf, "-")) {
        outfd = open(outf, O_WRONLY | O_CREAT | O_TRUNC | (direct ? O_DIRECT : 0), 0644);
        if (direct)
            dbuf = aligned_alloc(4096, DSZ);
    }
    curl_global_init(CURL_GLOBAL_ALL);
    if (share_) {
        sh = curl_share_init();
        curl_share_setopt(sh, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
        curl_share_setopt(sh, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    }
    m = curl_multi_init();
    ep = epoll_create1(0);
    curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, (long)(conc + 16));
    if (h2) {
        curl_multi_setopt(m, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
        curl_multi_setopt(m, CURLMOPT_MAX_HOST_CONNECTIONS, (long)maxconn);
        curl_multi_setopt(m, CURLMOPT_MAX_CONCURRENT_STREAMS, 2048L);
    }
    int sk = !strcmp(driver, "socket");
    if (sk) {
        curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, sockcb);
        curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, tmcb);
    }
    jobs = calloc(conc, sizeof(Job));
    lat = calloc(total + 1, sizeof(double));
    long rss0 = st("VmRSS");
    double u0, s0, u1, s1, w0 = watch ? pidcpu(watch) : 0, t0 = now();
    cpu(&u0, &s0);
    for (int i = 0; i < conc && started < total; i++)
        start(&jobs[i]);
    struct epoll_event ev[256];
    int run;
    double iu = 0, is = 0, it = 0;
    int half = 0;
    while (finished < total) {
        if (sk) {
            int to = 1000;
            if (timer_at >= 0) {
                double d = timer_at - now();
                to = d <= 0 ? 0 : (int)(d * 1000 + 0.999);
                if (to > 1000)
                    to = 1000;
            }
            int n = epoll_wait(ep, ev, 256, to);
            for (int i = 0; i < n; i++)
                curl_multi_socket_action(m, ev[i].data.fd,
                                         ((ev[i].events & EPOLLIN) ? CURL_CSELECT_IN : 0) |
                                             ((ev[i].events & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
                                             ((ev[i].events & (EPOLLERR | EPOLLHUP)) ? CURL_CSELECT_ERR : 0),
                                         &run);
            if (timer_at >= 0 && now() >= timer_at) {
                timer_at = -1;
                curl_multi_socket_action(m, CURL_SOCKET_TIMEOUT, 0, &run);
            }
        } else {
            curl_multi_poll(m, NULL, 0, 1000, NULL);
            curl_multi_perform(m, &run);
        }
        reap();
        if (idle > 0) {
            double t = now() - t0;
            if (!half && t > idle / 2) {
                half = 1;
                cpu(&iu, &is);
                it = now();
            }
            if (t > idle)
                break;
        }
    }
    double dt = now() - t0;
    if (outfd >= 0 && direct) {
        fcntl(outfd, F_SETFL, 0);
        if (write(outfd, dbuf, dn) < 0)
            failed++;
    }
    if (outfd >= 0 && durable) {
        fdatasync(outfd);
        dt = now() - t0;
    }
    cpu(&u1, &s1);
    double w1 = watch ? pidcpu(watch) : 0;
    if (idle > 0) {
        printf("curl-%s idle conc=%d finished=%ld failed=%ld rss0_kb=%ld rss_kb=%ld per_transfer_kb=%.2f threads=%ld "
               "start_cpu_us_per=%.1f hold_cpu_pct=%.2f bytes=%ld\n",
               driver, conc, finished, failed, rss0, st("VmRSS"), (st("VmRSS") - rss0) / (double)conc, st("Threads"),
               (iu + is - u0 - s0) / conc * 1e6, (u1 + s1 - iu - is) / (now() - it) * 100, bytes);
        return 0;
    }
    if (outf || upf) {
        double gb = bytes / 1e9;
        if (upf) {
            struct stat sb;
            stat(upf, &sb);
            gb = sb.st_size * (double)conc / 1e9;
        }
        printf("curl-%s bulk %s bytes=%.3fGB failed=%ld MBps=%.0f cpu_s_per_GB=%.3f (usr %.3f sys %.3f) "
               "origin_s_per_GB=%.3f hwm_kb=%ld\n",
               driver, upf ? "up" : "down", gb, failed, gb * 1e3 / dt, (u1 + s1 - u0 - s0) / gb, (u1 - u0) / gb,
               (s1 - s0) / gb, (w1 - w0) / gb, st("VmHWM"));
        return 0;
    }
    qsort(lat, total, sizeof(double), cmp);
    printf("curl-%s%s conc=%d n=%ld failed=%ld newconns=%ld rate=%.0f cpu_us_per=%.1f usr_us=%.1f origin_us=%.1f "
           "p50_ms=%.3f p99_ms=%.3f rss0_kb=%ld hwm_kb=%ld\n",
           driver, reuse ? "-reuse" : "", conc, total, failed, newconns, total / dt, (u1 + s1 - u0 - s0) / total * 1e6,
           (u1 - u0) / total * 1e6, (w1 - w0) / total * 1e6, lat[total / 2] * 1e3, lat[total * 99 / 100] * 1e3, rss0,
           st("VmHWM"));
    return failed ? 1 : 0;
}

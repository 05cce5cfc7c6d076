// The whole job path in one C thread: durable insert -> libcurl fetch -> durable completion (status, headers, body).
// Everything is asynchronous (libpq nonblocking, curl_multi_socket_action) on one epoll.
//
//   e2e [options] URL
//   -M own|claim  own (default): a job is inserted already leased to this node and fetched without a claim statement;
//                 claim: inserted as ready, and a second connection claims batches with FOR UPDATE SKIP LOCKED
//   -v s2|s3      schema variant, see queue.sql
//   -n jobs  -c fetches in flight  -b jobs an insert  -a jobs a claim  -p inserting connections
//   -k completing connections  -q most jobs a completion  -r jobs/s, open loop, inserted one by one
//   -C conninfo  -G cpuacct cgroup of PostgreSQL  -O cpuacct cgroup of the origin
//
// Build: gcc -O2 -o e2e e2e.c -I$(pg_config --includedir) -lpq -lcurl
#define _GNU_SOURCE
#include <curl/curl.h>
#include <endian.h>
#include <errno.h>
#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
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
static long long cgns(const char *cg) {
    if (!cg)
        return 0;
    char f[256];
    snprintf(f, 256, "%s/cpuacct.usage", cg);
    FILE *h = fopen(f, "r");
    long long v = 0;
    if (h) {
        if (fscanf(h, "%lld", &v) != 1)
            v = 0;
        fclose(h);
    }
    return v;
}
static const char *conninfo = "", *mode = "own", *var = "s3", *url, *pgcg, *ogcg;
static long total = 50000;
static int conc = 64, batch = 100, cbatch = 100, ncomp = 1, maxq = 500, nprod = 1;
static double rate;
typedef struct {
    char *p;
    size_t n, c;
} Buf;
static void put(Buf *b, const void *d, size_t n) {
    if (b->n + n > b->c) {
        b->c = (b->n + n) * 2;
        b->p = realloc(b->p, b->c);
    }
    memcpy(b->p + b->n, d, n);
    b->n += n;
}
static void p32(Buf *b, int32_t v) {
    v = htobe32(v);
    put(b, &v, 4);
}
static void ahead(Buf *b, int oid, int n) {
    b->n = 0;
    p32(b, 1);
    p32(b, 0);
    p32(b, oid);
    p32(b, n);
    p32(b, 1);
}
static void elem(Buf *b, const void *d, int n) {
    p32(b, n);
    put(b, d, n);
}
static char SPEC[600];
typedef struct Job {
    uint64_t id;
    double t0;
    CURL *e;
    int status;
    Buf body, hdr;
    struct Job *next;
} Job;
typedef struct {
    Job *h, *t;
    long n;
} Q;
static void qpush(Q *q, Job *j) {
    j->next = 0;
    if (q->t)
        q->t->next = j;
    else
        q->h = j;
    q->t = j;
    q->n++;
}
static Job *qpop(Q *q) {
    Job *j = q->h;
    if (j) {
        q->h = j->next;
        if (!q->h)
            q->t = 0;
        q->n--;
    }
    return j;
}
static Q ready_, done_, freeq;
static long submitted, finished, inflight, failed, queued, ncommit_ins, ncommit_comp, nclaims;
static double *lat;
static Job *newjob(void) {
    Job *j = qpop(&freeq);
    if (!j)
        j = calloc(1, sizeof *j);
    j->body.n = j->hdr.n = 0;
    return j;
}
static int ep;
static double timer_at = -1;
static CURLM *m;
enum { T_CURL, T_PG };
typedef struct {
    int type, fd;
    struct Conn *c;
} Ev;
typedef struct Conn {
    PGconn *db;
    int busy, kind, nb, want;
    Job *b[5000];
    Ev ev;
} Conn;
static void die(Conn *c, const char *w) {
    fprintf(stderr, "%s: %s\n", w, c ? PQerrorMessage(c->db) : "");
    exit(1);
}
static void arm(Conn *c) {
    int w = PQflush(c->db) > 0;
    if (w != c->want) {
        struct epoll_event e = {.events = EPOLLIN | (w ? EPOLLOUT : 0), .data.ptr = &c->ev};
        epoll_ctl(ep, EPOLL_CTL_MOD, PQsocket(c->db), &e);
        c->want = w;
    }
}
static void conn(Conn *c, int kind) {
    c->db = PQconnectdb(conninfo);
    c->kind = kind;
    if (PQstatus(c->db) != CONNECTION_OK)
        die(c, "connect");
    static const char *S3[] = {
        "with j as (insert into job(spec) select x from unnest($1::jsonb[]) x returning id) insert into "
        "queue(job_id,worker,lease_until,attempt) select id,$2::int,now()+interval '60s',1 from j returning job_id",
        "with j as (insert into job(spec) select x from unnest($1::jsonb[]) x returning id) insert into queue(job_id) "
        "select id from j returning job_id",
        "with c as materialized (select job_id from queue where worker is null and run_at<=now() order by "
        "priority,run_at,job_id limit $1 for update skip locked), u as (update queue q set "
        "worker=$2,lease_until=now()+interval '60s',attempt=attempt+1 from c where q.job_id=c.job_id returning "
        "q.job_id) select job.id,job.spec from u join job on job.id=u.job_id",
        "with d as (delete from queue q using unnest($1::bigint[]) x(id) where q.job_id=x.id and q.worker=$5 returning "
        "q.job_id) insert into result(job_id,http_status,headers,body) select x.id,x.s,x.h,x.b from "
        "unnest($1::bigint[],$2::int[],$3::text[],$4::bytea[]) x(id,s,h,b) join d on d.job_id=x.id"};
    static const char *S2[] = {
        "insert into jobs(spec,state,worker,lease_until,attempt) select x,1,$2::int,now()+interval '60s',1 from "
        "unnest($1::jsonb[]) x returning id",
        "insert into jobs(spec) select x from unnest($1::jsonb[]) x returning id",
        "with c as materialized (select id from jobs where state=0 and run_at<=now() order by priority,run_at,id limit "
        "$1 for update skip locked) update jobs j set state=1,worker=$2,lease_until=now()+interval "
        "'60s',attempt=attempt+1 from c where j.id=c.id returning j.id,j.spec",
        "with x as materialized (select * from unnest($1::bigint[],$2::int[],$3::text[],$4::bytea[]) x(id,s,h,b)), u "
        "as (update jobs j set state=2,finished_at=now(),http_status=x.s from x where j.id=x.id and j.state=1 and "
        "j.worker=$5 returning j.id) insert into results(job_id,http_status,headers,body) select x.id,x.s,x.h,x.b from "
        "x join u using(id)"};
    const char **S = strcmp(var, "s3") ? S2 : S3;
    const char *n[] = {"own", "ins", "claim", "comp"};
    for (int i = 0; i < 4; i++) {
        PGresult *r = PQprepare(c->db, n[i], S[i], 0, 0);
        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            die(c, n[i]);
        PQclear(r);
    }
    PQsetnonblocking(c->db, 1);
    c->ev = (Ev){T_PG, PQsocket(c->db), c};
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &c->ev};
    epoll_ctl(ep, EPOLL_CTL_ADD, PQsocket(c->db), &e);
}
static Conn prod[16], claimer, comp[8];
static int32_t me;
static int own_;
static Buf a1, a2, a3, a4;
static void send_(Conn *c, const char *n, int np, const char **v, int *l, int *f) {
    if (!PQsendQueryPrepared(c->db, n, np, v, l, f, 1))
        die(c, "send");
    c->busy = 1;
    arm(c);
}
static void insert(Conn *c, int k) {
    ahead(&a1, 3802, k);
    int sl = strlen(SPEC);
    for (int i = 0; i < k; i++) {
        p32(&a1, sl + 1);
        put(&a1, "\1", 1);
        put(&a1, SPEC, sl);
    }
    double t = now();
    c->nb = k;
    for (int i = 0; i < k; i++) {
        c->b[i] = newjob();
        c->b[i]->t0 = t;
    }
    submitted += k;
    const char *v[2] = {a1.p, (char *)&me};
    int l[2] = {a1.n, 4}, f[2] = {1, 1};
    send_(c, own_ ? "own" : "ins", own_ ? 2 : 1, v, l, f);
}
static void claim(Conn *c, int k) {
    int64_t n = htobe64(k);
    const char *v[2] = {(char *)&n, (char *)&me};
    int l[2] = {8, 4}, f[2] = {1, 1};
    nclaims++;
    send_(c, "claim", 2, v, l, f);
}
static void complete(Conn *c) {
    int k = done_.n < maxq ? done_.n : maxq;
    c->nb = k;
    ahead(&a1, 20, k);
    ahead(&a2, 23, k);
    ahead(&a3, 25, k);
    ahead(&a4, 17, k);
    for (int i = 0; i < k; i++) {
        Job *j = c->b[i] = qpop(&done_);
        elem(&a1, &j->id, 8);
        int32_t s = htobe32(j->status);
        elem(&a2, &s, 4);
        elem(&a3, j->hdr.p, j->hdr.n);
        elem(&a4, j->body.p, j->body.n);
    }
    const char *v[5] = {a1.p, a2.p, a3.p, a4.p, (char *)&me};
    int l[5] = {a1.n, a2.n, a3.n, a4.n, 4}, f[5] = {1, 1, 1, 1, 1};
    send_(c, "comp", 5, v, l, f);
}
#define TMAX (1 << 22)
static double *tsub; // claim mode: submit time by id
static void onpg(Conn *c) {
    if (!PQconsumeInput(c->db))
        die(c, "consume");
    if (c->want)
        arm(c);
    while (c->busy && !PQisBusy(c->db)) {
        PGresult *r = PQgetResult(c->db);
        if (!r) {
            c->busy = 0;
            break;
        }
        if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK)
            die(c, "result");
        int n = PQntuples(r);
        if (c->kind == 0) {
            ncommit_ins++;
            for (int i = 0; i < n; i++) {
                Job *j = c->b[i];
                memcpy(&j->id, PQgetvalue(r, i, 0), 8);
                if (own_)
                    qpush(&ready_, j);
                else {
                    tsub[be64toh(j->id) % TMAX] = j->t0;
                    qpush(&freeq, j);
                    queued++;
                }
            }
        } else if (c->kind == 1) {
            for (int i = 0; i < n; i++) {
                Job *j = newjob();
                memcpy(&j->id, PQgetvalue(r, i, 0), 8);
                j->t0 = tsub[be64toh(j->id) % TMAX];
                qpush(&ready_, j);
                queued--;
            }
        } else {
            ncommit_comp++;
            double t = now();
            if (atoi(PQcmdTuples(r)) != c->nb) {
                fprintf(stderr, "completed %s of %d\n", PQcmdTuples(r), c->nb);
                exit(1);
            }
            for (int i = 0; i < c->nb; i++) {
                lat[finished++] = t - c->b[i]->t0;
                qpush(&freeq, c->b[i]);
            }
        }
        PQclear(r);
    }
}
static size_t wr(char *p, size_t s, size_t n, void *u) {
    put(&((Job *)u)->body, p, s * n);
    return s * n;
}
static size_t hd(char *p, size_t s, size_t n, void *u) {
    put(&((Job *)u)->hdr, p, s * n);
    return s * n;
}
static void fetch(Job *j) {
    CURL *e = j->e = curl_easy_init();
    inflight++;
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_easy_setopt(e, CURLOPT_PRIVATE, j);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, wr);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, j);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, hd);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, j);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, 30000L);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, 60000L);
    curl_multi_add_handle(m, e);
}
static void reap(void) {
    CURLMsg *g;
    int q;
    while ((g = curl_multi_info_read(m, &q))) {
        if (g->msg != CURLMSG_DONE)
            continue;
        Job *j;
        long code = 0;
        curl_easy_getinfo(g->easy_handle, CURLINFO_PRIVATE, &j);
        curl_easy_getinfo(g->easy_handle, CURLINFO_RESPONSE_CODE, &code);
        if (g->data.result || code != 200)
            failed++;
        j->status = code;
        curl_multi_remove_handle(m, j->e);
        curl_easy_cleanup(j->e);
        j->e = 0;
        inflight--;
        qpush(&done_, j);
    }
}
static int sockcb(CURL *e, curl_socket_t s, int what, void *u, void *sp) {
    (void)e;
    (void)u;
    Ev *v = sp;
    struct epoll_event ev = {0};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(ep, EPOLL_CTL_DEL, s, &ev);
        if (v)
            v->fd = -1;
        return 0;
    }
    int isnew = !v;
    if (isnew) {
        v = calloc(1, sizeof *v);
        v->type = T_CURL;
        v->fd = s;
        curl_multi_assign(m, s, v);
    }
    ev.data.ptr = v;
    ev.events = ((what & CURL_POLL_IN) ? EPOLLIN : 0) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0);
    if (isnew) {
        if (epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) < 0)
            epoll_ctl(ep, EPOLL_CTL_MOD, s, &ev);
    } else if (epoll_ctl(ep, EPOLL_CTL_MOD, s, &ev) < 0)
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
    while ((o = getopt(ac, av, "M:v:n:c:b:a:k:q:r:p:C:G:O:")) != -1)
        switch (o) {
        case 'M':
            mode = optarg;
            break;
        case 'v':
            var = optarg;
            break;
        case 'n':
            total = atol(optarg);
            break;
        case 'c':
            conc = atoi(optarg);
            break;
        case 'b':
            batch = atoi(optarg);
            break;
        case 'a':
            cbatch = atoi(optarg);
            break;
        case 'k':
            ncomp = atoi(optarg);
            break;
        case 'q':
            maxq = atoi(optarg);
            break;
        case 'r':
            rate = atof(optarg);
            break;
        case 'p':
            nprod = atoi(optarg);
            break;
        case 'C':
            conninfo = optarg;
            break;
        case 'G':
            pgcg = optarg;
            break;
        case 'O':
            ogcg = optarg;
            break;
        default:
            return 2;
        }
    url = av[optind];
    own_ = !strcmp(mode, "own");
    me = htobe32(1);
    lat = calloc(total + 5000, sizeof(double));
    tsub = calloc(TMAX, sizeof(double));
    snprintf(SPEC, sizeof SPEC,
             "{\"url\":\"%s\",\"method\":\"GET\",\"headers\":{\"accept\":\"*/*\",\"user-agent\":\"bench/"
             "1.0\"},\"redirect\":{\"follow\":true,\"max\":10},\"timeout\":{\"connect_ms\":30000,\"total_ms\":60000},"
             "\"cache\":\"default\",\"cookies\":\"accept\",\"callback\":\"http://127.0.0.1:9/cb\"}",
             url);
    curl_global_init(CURL_GLOBAL_ALL);
    ep = epoll_create1(0);
    m = curl_multi_init();
    curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, (long)conc + 16);
    curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, sockcb);
    curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, tmcb);
    for (int i = 0; i < nprod; i++)
        conn(&prod[i], 0);
    conn(&claimer, 1);
    for (int i = 0; i < ncomp; i++)
        conn(&comp[i], 2);
    struct rusage r0, r1;
    getrusage(RUSAGE_SELF, &r0);
    long long g0 = cgns(pgcg), o0 = cgns(ogcg);
    double t0 = now();
    int run;
    struct epoll_event ev[256];
    double cap = conc * 2 + batch;
    while (finished < total) {
        for (int i = 0; i < nprod; i++)
            if (!prod[i].busy && submitted < total) {
                if (rate > 0) {
                    if (now() - t0 >= submitted / rate)
                        insert(&prod[i], 1);
                } else if (ready_.n + inflight + queued < cap) {
                    int k = batch < total - submitted ? batch : total - submitted;
                    insert(&prod[i], k);
                }
            }
        if (!own_ && !claimer.busy && queued > 0 && ready_.n + inflight < conc * 2)
            claim(&claimer, cbatch);
        while (ready_.n && inflight < conc)
            fetch(qpop(&ready_));
        for (int i = 0; i < ncomp; i++)
            if (!comp[i].busy && done_.n)
                complete(&comp[i]);
        double t = now(), to = 1;
        if (timer_at >= 0 && timer_at - t < to)
            to = timer_at - t;
        if (rate > 0 && submitted < total && t0 + submitted / rate - t < to)
            to = t0 + submitted / rate - t;
        if (to < 0)
            to = 0;
        struct timespec ts = {(time_t)to, (long)((to - (time_t)to) * 1e9)};
        int n = epoll_pwait2(ep, ev, 256, &ts, NULL);
        for (int i = 0; i < n; i++) {
            Ev *e = ev[i].data.ptr;
            if (e->type == T_PG)
                onpg(e->c);
            else if (e->fd >= 0)
                curl_multi_socket_action(m, e->fd,
                                         ((ev[i].events & EPOLLIN) ? CURL_CSELECT_IN : 0) |
                                             ((ev[i].events & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
                                             ((ev[i].events & (EPOLLERR | EPOLLHUP)) ? CURL_CSELECT_ERR : 0),
                                         &run);
        }
        if (timer_at >= 0 && now() >= timer_at) {
            timer_at = -1;
            curl_multi_socket_action(m, CURL_SOCKET_TIMEOUT, 0, &run);
        }
        reap();
    }
    double dt = now() - t0;
    getrusage(RUSAGE_SELF, &r1);
    long long g1 = cgns(pgcg), o1 = cgns(ogcg);
    double cpu = (r1.ru_utime.tv_sec - r0.ru_utime.tv_sec) + (r1.ru_stime.tv_sec - r0.ru_stime.tv_sec) +
                 ((r1.ru_utime.tv_usec - r0.ru_utime.tv_usec) + (r1.ru_stime.tv_usec - r0.ru_stime.tv_usec)) / 1e6;
    qsort(lat, finished, sizeof(double), cmp);
    double N = finished;
    printf("e2e-%s %s c=%d b=%d k=%d p=%d rate_req=%.0f jobs=%ld failed=%ld rate=%.0f app_us=%.1f pg_us=%.1f "
           "origin_us=%.1f sum_us=%.1f ins_batch=%.1f comp_batch=%.1f p50_ms=%.3f p99_ms=%.3f hwm_kb=%ld\n",
           mode, var, conc, batch, ncomp, nprod, rate, finished, failed, N / dt, cpu / N * 1e6, (g1 - g0) / 1e3 / N,
           (o1 - o0) / 1e3 / N, cpu / N * 1e6 + (g1 - g0 + o1 - o0) / 1e3 / N, N / ncommit_ins, N / ncommit_comp,
           lat[finished / 2] * 1e3, lat[(long)(finished * 0.99)] * 1e3, st("VmHWM"));
    return 0;
}

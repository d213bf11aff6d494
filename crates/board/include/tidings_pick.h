/* tidings_pick.h: asks this machine's Tidings agent for nodes for work, as `tidings pick` does.
 *
 * Headers only, C11 or C++, no library, beside tidings.h and tidings_wire.h: include it first, or
 * define _POSIX_C_SOURCE yourself.
 *
 *     tidings_pick_request want = {.count = 4, .cpus = 8, .mem_bytes = 16ull << 30};
 *     tidings_picked nodes[4];
 *     tidings_refusal why;
 *     if (tidings_pick(&want, nodes, &why) == TIDINGS_OK) puts(nodes[0].name);
 *     else fprintf(stderr, "%s\n", why.message);
 *
 * The agent remembers what it assigned, for all who ask, so this asks it through its control
 * socket (docs/reference/control.md). The whole call takes no longer than the timeout, whatever the
 * agent does; what comes back is bounded; no signal is raised, no memory taken, no locale heeded.
 */
#ifndef TIDINGS_PICK_H
#define TIDINGS_PICK_H

#include "tidings.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What tidings_pick returns besides TIDINGS_OK; the numbers go on where those of tidings.h end. */
enum tidings_pick_status {
    TIDINGS_NO_AGENT = -10,    /* nothing listens on the agent's socket */
    TIDINGS_FORBIDDEN = -11,   /* this user may not open it */
    TIDINGS_TIMED_OUT = -12,   /* the agent did not answer in time: it may be stopped */
    TIDINGS_CLOSED = -13,      /* it hung up: it has left or ended */
    TIDINGS_BROKEN = -14,      /* the system refused something else */
    TIDINGS_MALFORMED = -15,   /* the answer is none */
    TIDINGS_BAD_REQUEST = -16, /* what was asked is impossible, whatever the cluster */
    TIDINGS_REFUSED = -17,     /* the agent refused, as when too many ask at once */
    TIDINGS_UNSATISFIED = -18  /* too few nodes have what is needed */
};

/* What to pick. Zeros are the defaults. */
typedef struct tidings_pick_request {
    uint32_t count;            /* nodes, each another; at least 1 */
    double cpus;               /* processors that each must have free, to a thousandth */
    uint64_t mem_bytes;        /* memory that each must have free, bytes */
    const char *const *avoid;  /* names of nodes that are not to be picked */
    size_t avoid_count;        /* how many of them */
    const char *policy;        /* two-choices (NULL), least-loaded, spread or pack */
    const char *runtime_dir;   /* the agent's; NULL: the usual place */
    int64_t timeout_ns;        /* for the whole call; 0: 5 s */
} tidings_pick_request;

/* A node that was picked, as it was known before. */
typedef struct tidings_picked {
    char name[TIDINGS_NAME];
    double age_s;            /* how old the news of it is, s */
    double cpus, free_cpus;  /* its processors, and those free, earlier picks taken off */
    uint64_t mem_free_bytes; /* memory that is free, earlier picks taken off, bytes */
} tidings_picked;

/* A need that some nodes do not meet. */
typedef struct tidings_lack {
    double asked; /* of each node: processors, or bytes */
    double best;  /* the most that one of those that have less has free */
    double lacks; /* by how much that one falls short */
    uint64_t nodes; /* nodes that have less than asked; 0: this need is met by all */
} tidings_lack;

/* Why nothing was picked. */
typedef struct tidings_refusal {
    char message[1024];                 /* in words, the place and the remedy, as the command's */
    uint64_t wanted, found, considered; /* with TIDINGS_UNSATISFIED: nodes */
    tidings_lack cpus, mem_bytes;       /* with TIDINGS_UNSATISFIED: which need failed */
} tidings_refusal;

#include "tidings_wire.h"

static inline void tidings_node_field_(tidings_wire_ *wire, const char *key, void *to)
{
    tidings_picked *node = (tidings_picked *)to;
    if (strcmp(key, "name") == 0)
        tidings_get_text_(wire, node->name, sizeof node->name);
    else if (strcmp(key, "age_ms") == 0)
        node->age_s = tidings_get_number_(wire, NULL) / 1000;
    else if (strcmp(key, "cpus") == 0)
        node->cpus = tidings_get_number_(wire, NULL);
    else if (strcmp(key, "free_cpus") == 0)
        node->free_cpus = tidings_get_number_(wire, NULL);
    else if (strcmp(key, "mem_free_bytes") == 0)
        tidings_get_number_(wire, &node->mem_free_bytes);
    else
        tidings_skip_(wire);
}

static inline void tidings_node_(tidings_wire_ *wire)
{
    tidings_picked node;
    memset(&node, 0, sizeof node);
    tidings_object_(wire, tidings_node_field_, &node);
    if (wire->node < wire->request->count && wire->nodes)
        wire->nodes[wire->node] = node;
    wire->node++;
}

static inline void tidings_result_field_(tidings_wire_ *wire, const char *key, void *to)
{
    (void)to;
    if (strcmp(key, "nodes") == 0)
        tidings_list_(wire, tidings_node_);
    else
        tidings_skip_(wire);
}

/* A lack and the name of its need, which may come first or last. */
typedef struct tidings_named_lack_ {
    char need[16];
    tidings_lack lack;
} tidings_named_lack_;

static inline void tidings_lack_field_(tidings_wire_ *wire, const char *key, void *to)
{
    tidings_named_lack_ *named = (tidings_named_lack_ *)to;
    if (strcmp(key, "need") == 0)
        tidings_get_text_(wire, named->need, sizeof named->need);
    else if (strcmp(key, "asked") == 0)
        named->lack.asked = tidings_get_number_(wire, NULL);
    else if (strcmp(key, "best") == 0)
        named->lack.best = tidings_get_number_(wire, NULL);
    else if (strcmp(key, "short") == 0)
        named->lack.lacks = tidings_get_number_(wire, NULL);
    else if (strcmp(key, "nodes") == 0)
        tidings_get_number_(wire, &named->lack.nodes);
    else
        tidings_skip_(wire);
}

static inline void tidings_lack_(tidings_wire_ *wire)
{
    tidings_named_lack_ named;
    memset(&named, 0, sizeof named);
    tidings_object_(wire, tidings_lack_field_, &named);
    if (strcmp(named.need, "cpus") == 0)
        wire->why->cpus = named.lack;
    else if (strcmp(named.need, "mem_bytes") == 0)
        wire->why->mem_bytes = named.lack;
}

static inline void tidings_shortfall_field_(tidings_wire_ *wire, const char *key, void *to)
{
    (void)to;
    if (strcmp(key, "wanted") == 0)
        tidings_get_number_(wire, &wire->why->wanted);
    else if (strcmp(key, "found") == 0)
        tidings_get_number_(wire, &wire->why->found);
    else if (strcmp(key, "considered") == 0)
        tidings_get_number_(wire, &wire->why->considered);
    else if (strcmp(key, "lacks") == 0)
        tidings_list_(wire, tidings_lack_);
    else
        tidings_skip_(wire);
}

static inline void tidings_error_field_(tidings_wire_ *wire, const char *key, void *to)
{
    char kind[32];
    (void)to;
    if (strcmp(key, "kind") == 0) {
        tidings_get_text_(wire, kind, sizeof kind);
        wire->kind = strcmp(kind, "unsatisfied") == 0   ? TIDINGS_UNSATISFIED
                     : strcmp(kind, "bad-request") == 0 ? TIDINGS_BAD_REQUEST
                     : strcmp(kind, "forbidden") == 0   ? TIDINGS_FORBIDDEN
                                                        : TIDINGS_REFUSED;
    } else if (strcmp(key, "message") == 0)
        tidings_get_text_(wire, wire->why->message, sizeof wire->why->message);
    else if (strcmp(key, "shortfall") == 0)
        tidings_object_(wire, tidings_shortfall_field_, NULL);
    else
        tidings_skip_(wire);
}

static inline void tidings_reply_field_(tidings_wire_ *wire, const char *key, void *to)
{
    (void)to;
    if (strcmp(key, "ok") == 0) {
        wire->ok = tidings_next_(wire) == 't';
        tidings_skip_(wire);
    } else if (strcmp(key, "result") == 0)
        tidings_object_(wire, tidings_result_field_, NULL);
    else if (strcmp(key, "error") == 0)
        tidings_object_(wire, tidings_error_field_, NULL);
    else
        tidings_skip_(wire);
}

/* The socket for all requests, or where this user may not open it, the one for reading. */
static inline void tidings_socket_(char *path, size_t bytes, const char *directory)
{
    char reading[1024];
    snprintf(path, bytes, "%.900s/control.sock", directory);
    if (access(path, W_OK) == 0 || errno != EACCES)
        return;
    snprintf(reading, sizeof reading, "%.900s/read.sock", directory);
    if (access(reading, W_OK) == 0)
        snprintf(path, bytes, "%.1000s", reading);
}

/* Connects to the socket; the path goes to why->message, for what is said of it. */
static inline void tidings_connect_(tidings_wire_ *wire, const char *runtime_dir)
{
    struct sockaddr_un address;
    struct timespec pause = {0, 1000000};
    char path[4096];
    if (runtime_dir)
        snprintf(path, sizeof path, "%s", runtime_dir);
    else
        tidings_default_dir_(path, sizeof path);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    tidings_socket_(wire->why->message, sizeof wire->why->message, path);
    if (strlen(wire->why->message) >= sizeof address.sun_path) {
        wire->errno_ = ENAMETOOLONG;
        wire->status = TIDINGS_NO_AGENT;
        return;
    }
    memcpy(address.sun_path, wire->why->message, strlen(wire->why->message));
    wire->file = socket(AF_UNIX, SOCK_STREAM, 0);
    if (wire->file < 0 || fcntl(wire->file, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(wire->file, F_SETFL, O_NONBLOCK) < 0) {
        wire->status = TIDINGS_BROKEN;
        return;
    }
    while (connect(wire->file, (const struct sockaddr *)&address, sizeof address) != 0) {
        if (errno == EISCONN)
            return;
        /* An agent that takes no connections: there is nothing to poll for until it does. */
        if ((errno != EAGAIN && errno != EINTR) || tidings_now_ns() > wire->deadline_ns) {
            wire->errno_ = errno;
            wire->status = errno == EACCES || errno == EPERM ? TIDINGS_FORBIDDEN
                           : errno == EAGAIN                 ? TIDINGS_TIMED_OUT
                                                             : TIDINGS_NO_AGENT;
            return;
        }
        nanosleep(&pause, NULL);
    }
}

/* Says in words what went wrong on this side; the agent's own words stay. */
static inline void tidings_explain_(tidings_wire_ *wire, const char *path)
{
    const char *what = "talking to it failed", *because = strerror(wire->errno_);
    char *text = wire->why->message;
    size_t bytes = sizeof wire->why->message;
    switch (wire->status) {
    case TIDINGS_NO_AGENT:
        snprintf(text, bytes,
                 "no agent answers at %s: start one with `tidings agent`, or name its runtime "
                 "directory (%s)",
                 path, because);
        return;
    case TIDINGS_FORBIDDEN:
        snprintf(text, bytes,
                 "the agent's socket %s may not be opened by this user: run the program as the "
                 "agent's user, or as a member of its group (%s)",
                 path, because);
        return;
    case TIDINGS_TIMED_OUT:
        what = "did not answer in time: it may be stopped or overloaded";
        break;
    case TIDINGS_CLOSED: what = "closed the connection: it has left or ended"; break;
    case TIDINGS_MALFORMED:
        what = "answered what this program does not understand: are both of the same version?";
        break;
    case TIDINGS_BAD_REQUEST:
        what = wire->request->count
                   ? "was not asked: name fewer nodes to avoid, and ask for 0 to 1e6 processors"
                   : "was not asked: name 1 to 64 metrics, of less than 64 KiB in all";
        break;
    default: break;
    }
    snprintf(text, bytes, "the agent at %s %s", path, what);
}

/* Connects to the agent whose runtime directory it is. path gets the socket's. */
static inline void tidings_begin_(tidings_wire_ *wire, const char *runtime_dir, int64_t timeout_ns,
                                  char path[1024])
{
    wire->file = -1;
    wire->ok = -1;
    wire->kind = TIDINGS_REFUSED;
    memset(wire->why, 0, sizeof *wire->why);
    wire->deadline_ns = tidings_now_ns() + (timeout_ns > 0 ? timeout_ns : 5000000000);
    tidings_connect_(wire, runtime_dir);
    memcpy(path, wire->why->message, sizeof wire->why->message);
    wire->why->message[0] = 0;
}

/* Reads the reply to what was sent, and closes the connection; what the whole call returns. */
static inline int tidings_end_(tidings_wire_ *wire, const char *path)
{
    if (wire->status == TIDINGS_OK)
        tidings_object_(wire, tidings_reply_field_, NULL);
    if (wire->status == TIDINGS_OK &&
        (wire->ok < 0 || (wire->ok && wire->node != wire->request->count)))
        wire->status = TIDINGS_MALFORMED;
    if (wire->file >= 0)
        close(wire->file);
    if (wire->status == TIDINGS_OK)
        return wire->ok ? TIDINGS_OK : wire->kind;
    tidings_explain_(wire, path);
    return wire->status;
}

/* Picks nodes for work, into nodes, which has room for request->count, the best first. Returns
 * TIDINGS_OK, or what went wrong, which why (not NULL) says in words; nodes are of no meaning then.
 */
static inline int tidings_pick(const tidings_pick_request *request, tidings_picked *nodes,
                               tidings_refusal *why)
{
    tidings_wire_ wire;
    char path[sizeof why->message];
    memset(&wire, 0, sizeof wire);
    wire.request = request;
    wire.nodes = nodes;
    wire.why = why;
    tidings_begin_(&wire, request->runtime_dir, request->timeout_ns, path);
    if (wire.status == TIDINGS_OK && !(request->cpus >= 0 && request->cpus <= 1e6))
        wire.status = TIDINGS_BAD_REQUEST;
    if (wire.status == TIDINGS_OK)
        tidings_send_(&wire, request);
    return tidings_end_(&wire, path);
}

#ifdef __cplusplus
}
#endif

#endif

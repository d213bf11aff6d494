/* tidings_wire.h: a line to the agent and the JSON that comes back, for tidings_pick.h,
 * which includes it.
 *
 * A socket that is waited for no longer than a limit, and a reader that takes a reply byte by byte
 * and keeps what it is asked for. Every name ends in _: none is for programs.
 */
#ifndef TIDINGS_WIRE_H
#define TIDINGS_WIRE_H

#ifndef TIDINGS_PICK_H
#error "include tidings_pick.h instead"
#endif

/* The longest request that an agent reads, and the most bytes of a reply that are read. */
#define TIDINGS_REQUEST_BYTES 65536u
#define TIDINGS_REPLY_BYTES 268435456u

/* A connection, and what was read of a reply but not used yet. */
typedef struct tidings_wire_ {
    int file, status, errno_;
    int64_t deadline_ns;
    size_t at, end, sent, received, node;
    char buffer[4096];
    const tidings_pick_request *request;
    tidings_picked *nodes;
    tidings_refusal *why;
    int ok, kind; /* -1 while not read */
} tidings_wire_;

/* Waits until the socket can be read or written, or the time is over. */
static inline int tidings_poll_(tidings_wire_ *wire, short events)
{
    struct pollfd one;
    int64_t left_ms;
    int ready;
    one.fd = wire->file;
    one.events = events;
    do {
        left_ms = (wire->deadline_ns - tidings_now_ns() + 999999) / 1000000;
        ready = left_ms <= 0 ? 0 : poll(&one, 1, left_ms > 1000000 ? 1000000 : (int)left_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        wire->status = ready == 0 ? TIDINGS_TIMED_OUT : TIDINGS_BROKEN;
    return ready > 0;
}

static inline void tidings_flush_(tidings_wire_ *wire)
{
    size_t at = 0;
    ssize_t sent;
    while (wire->status == TIDINGS_OK && at < wire->end) {
        sent = send(wire->file, wire->buffer + at, wire->end - at, MSG_NOSIGNAL);
        if (sent > 0)
            at += (size_t)sent;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            tidings_poll_(wire, POLLOUT);
        else if (errno != EINTR)
            wire->status = errno == EPIPE ? TIDINGS_CLOSED : TIDINGS_BROKEN;
    }
    wire->end = 0;
}

static inline void tidings_put_(tidings_wire_ *wire, const char *text, size_t bytes)
{
    for (; bytes && wire->status == TIDINGS_OK; bytes--) {
        if (++wire->sent > TIDINGS_REQUEST_BYTES)
            wire->status = TIDINGS_BAD_REQUEST;
        if (wire->end == sizeof wire->buffer)
            tidings_flush_(wire);
        if (wire->status == TIDINGS_OK)
            wire->buffer[wire->end++] = *text++;
    }
}

/* Sends a text between quotes. */
static inline void tidings_put_text_(tidings_wire_ *wire, const char *text)
{
    char escaped[8];
    tidings_put_(wire, "\"", 1);
    for (; *text; text++) {
        if ((unsigned char)*text >= 32 && *text != '"' && *text != '\\') {
            tidings_put_(wire, text, 1);
            continue;
        }
        snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned char)*text);
        tidings_put_(wire, escaped, 6);
    }
    tidings_put_(wire, "\"", 1);
}

static inline void tidings_send_(tidings_wire_ *wire, const tidings_pick_request *request)
{
    char head[160];
    /* No decimal point of a locale: thousandths, as an integer with an exponent. */
    unsigned long long thousandths = (unsigned long long)(request->cpus * 1000 + 0.999);
    size_t at;
    int bytes = snprintf(head, sizeof head,
                         "{\"op\":\"pick\",\"count\":%lu,\"cpus\":%llue-3,\"mem_bytes\":%llu,"
                         "\"policy\":",
                         (unsigned long)request->count, thousandths,
                         (unsigned long long)request->mem_bytes);
    tidings_put_(wire, head, (size_t)bytes);
    tidings_put_text_(wire, request->policy ? request->policy : "two-choices");
    tidings_put_(wire, ",\"avoid\":[", 10);
    for (at = 0; at < request->avoid_count; at++) {
        tidings_put_(wire, ",", at > 0);
        tidings_put_text_(wire, request->avoid[at]);
    }
    tidings_put_(wire, "]}\n", 3);
    tidings_flush_(wire);
}

/* The next byte of the reply without taking it; -1 when there is none. */
static inline int tidings_peek_(tidings_wire_ *wire)
{
    ssize_t read;
    while (wire->status == TIDINGS_OK && wire->at == wire->end) {
        read = recv(wire->file, wire->buffer, sizeof wire->buffer, 0);
        if (read > 0) {
            wire->at = 0;
            wire->end = (size_t)read;
            wire->received += (size_t)read;
            if (wire->received > TIDINGS_REPLY_BYTES)
                wire->status = TIDINGS_MALFORMED;
        } else if (read == 0 || errno == ECONNRESET)
            wire->status = TIDINGS_CLOSED;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            tidings_poll_(wire, POLLIN);
        else if (errno != EINTR)
            wire->status = TIDINGS_BROKEN;
    }
    return wire->status == TIDINGS_OK ? (unsigned char)wire->buffer[wire->at] : -1;
}

/* Takes the next byte; -1 when there is none. */
static inline int tidings_take_(tidings_wire_ *wire)
{
    int byte = tidings_peek_(wire);
    if (byte >= 0)
        wire->at++;
    return byte;
}

/* The next byte that is no blank, not taken. */
static inline int tidings_next_(tidings_wire_ *wire)
{
    int byte = tidings_peek_(wire);
    while (byte == ' ' || byte == '\t' || byte == '\r') {
        wire->at++;
        byte = tidings_peek_(wire);
    }
    return byte;
}

/* Takes the byte if it comes next. */
static inline int tidings_is_(tidings_wire_ *wire, int byte)
{
    int is = tidings_next_(wire) == byte;
    wire->at += (size_t)is;
    return is;
}

static inline void tidings_expect_(tidings_wire_ *wire, int byte)
{
    if (!tidings_is_(wire, byte) && wire->status == TIDINGS_OK)
        wire->status = TIDINGS_MALFORMED;
}

/* The character behind a backslash as a code point. */
static inline unsigned tidings_escaped_(tidings_wire_ *wire)
{
    int byte = tidings_take_(wire), digits = 4;
    unsigned code = 0;
    switch (byte) {
    case 'b': return 8;
    case 'f': return 12;
    case 'n': return 10;
    case 'r': return 13;
    case 't': return 9;
    case 'u': break;
    default: return byte < 0 ? 0 : (unsigned)byte;
    }
    for (; digits > 0; digits--) {
        byte = tidings_take_(wire);
        if (byte >= '0' && byte <= '9')
            code = code * 16 + (unsigned)(byte - '0');
        else if ((byte | 32) >= 'a' && (byte | 32) <= 'f')
            code = code * 16 + (unsigned)((byte | 32) - 'a') + 10;
        else if (wire->status == TIDINGS_OK)
            wire->status = TIDINGS_MALFORMED;
    }
    return code < 128 ? code : '?'; /* agents send others as they are */
}

/* Reads a text into room of so many bytes, cut off if it is longer, with a 0 behind it. */
static inline void tidings_get_text_(tidings_wire_ *wire, char *to, size_t room)
{
    size_t at = 0;
    int byte;
    tidings_expect_(wire, '"');
    for (;;) {
        byte = tidings_take_(wire);
        if (byte < 0 || byte == '"')
            break;
        if (byte == '\\')
            byte = (int)tidings_escaped_(wire);
        if (at + 1 < room)
            to[at++] = (char)byte;
    }
    if (room)
        to[at] = 0;
}

/* Reads a number that is not negative; null is 0. No decimal point of a locale is heeded. */
static inline double tidings_get_number_(tidings_wire_ *wire, uint64_t *whole)
{
    double value = 0, step = 1;
    uint64_t exact = 0;
    int byte = tidings_next_(wire), digits = 0, exponent = 0, sign = 1, part = 0;
    for (;; byte = tidings_peek_(wire)) {
        if (byte >= '0' && byte <= '9') {
            digits++;
            if (part == 2)
                exponent = exponent < 1000 ? exponent * 10 + byte - '0' : exponent;
            else if (part == 1)
                value += (byte - '0') * (step /= 10);
            else {
                value = value * 10 + (byte - '0');
                exact = exact * 10 + (uint64_t)(byte - '0');
            }
        } else if (byte == '.' && part == 0)
            part = 1;
        else if ((byte | 32) == 'e' && byte > 0 && part < 2)
            part = 2;
        else if (byte == '-' && part == 2)
            sign = -1;
        else if (byte != '+' || part != 2)
            break;
        wire->at++;
    }
    for (; exponent > 0; exponent--)
        value = sign > 0 ? value * 10 : value / 10;
    if (digits == 0 && wire->status == TIDINGS_OK)
        wire->status = TIDINGS_MALFORMED;
    if (whole)
        *whole = part == 0 ? exact : value < 1.8e19 ? (uint64_t)value : UINT64_MAX;
    return value;
}

/* Passes over a value of any kind. */
static inline void tidings_skip_(tidings_wire_ *wire)
{
    size_t depth = 0;
    int byte;
    do {
        byte = tidings_next_(wire);
        if (byte == '"')
            tidings_get_text_(wire, NULL, 0);
        else if (byte == '{' || byte == '[')
            depth++, wire->at++;
        else if (byte == '}' || byte == ']') {
            if (depth-- == 0) {
                wire->status = TIDINGS_MALFORMED;
                return;
            }
            wire->at++;
        } else if (byte == ',' || byte == ':')
            wire->at++;
        else
            while (byte >= 0 && !strchr(",:]}\n\" ", byte)) {
                wire->at++;
                byte = tidings_peek_(wire);
            }
        if (byte == '\n' || byte == 0)
            wire->status = TIDINGS_MALFORMED;
    } while (depth > 0 && wire->status == TIDINGS_OK);
}

/* Reads an object, whose fields are taken by name. */
static inline void tidings_object_(tidings_wire_ *wire,
                                   void (*field)(tidings_wire_ *, const char *, void *), void *to)
{
    char key[32];
    tidings_expect_(wire, '{');
    if (tidings_is_(wire, '}'))
        return;
    do {
        tidings_get_text_(wire, key, sizeof key);
        tidings_expect_(wire, ':');
        if (wire->status == TIDINGS_OK)
            field(wire, key, to);
    } while (tidings_is_(wire, ','));
    tidings_expect_(wire, '}');
}

/* Reads a list of objects; each gets what place returns. */
static inline void tidings_list_(tidings_wire_ *wire, void (*one)(tidings_wire_ *))
{
    tidings_expect_(wire, '[');
    if (tidings_is_(wire, ']'))
        return;
    do
        one(wire);
    while (tidings_is_(wire, ',') && wire->status == TIDINGS_OK);
    tidings_expect_(wire, ']');
}

#endif

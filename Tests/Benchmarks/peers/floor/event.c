#include "floor.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

bool equal(struct piece a, struct piece b) { return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0; }

void clear(struct buffer *to) { to->size = 0; }

static void reserve(struct buffer *to, size_t more) {
    if (to->size + more <= to->capacity) return;
    to->capacity = 2 * (to->size + more) + 256;
    to->bytes = realloc(to->bytes, to->capacity);
    if (to->bytes == NULL) fail("growing a text", "out of memory");
}

void add(struct buffer *to, struct piece text) {
    reserve(to, text.size);
    if (text.size > 0) memcpy(to->bytes + to->size, text.bytes, text.size);
    to->size += text.size;
}

void add_encoded(struct buffer *to, struct piece text) {
    static const char digits[] = "0123456789ABCDEF";
    reserve(to, 3 * text.size);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                        byte == '-' || byte == '_' || byte == '.' || byte == '~';
        if (is_plain) {
            to->bytes[to->size++] = (char)byte;
        } else {
            to->bytes[to->size++] = '%';
            to->bytes[to->size++] = digits[byte >> 4];
            to->bytes[to->size++] = digits[byte & 15];
        }
    }
}

void add_quoted(struct buffer *to, struct piece json) {
    reserve(to, 2 * json.size);
    for (size_t i = 0; i < json.size; i++) {
        if (json.bytes[i] == '"') to->bytes[to->size++] = '\\';
        to->bytes[to->size++] = json.bytes[i];
    }
}

// MARK: - JSON

static _Noreturn void refuse(void) { fail("reading JSON", "it is not valid, or has an escape"); }

struct members members_of(struct piece object) {
    if (object.size < 2 || object.bytes[0] != '{') refuse();
    return (struct members){object.bytes + 1, object.bytes + object.size};
}

static void skip_spaces(struct members *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\t' || *in->at == '\r')) in->at++;
}

static void expect(struct members *in, char byte) {
    skip_spaces(in);
    if (in->at == in->end || *in->at != byte) refuse();
    in->at++;
}

static struct piece read_string(struct members *in) {
    expect(in, '"');
    const char *start = in->at;
    const char *quote = memchr(start, '"', (size_t)(in->end - start));
    if (quote == NULL || memchr(start, '\\', (size_t)(quote - start)) != NULL) refuse();
    in->at = quote + 1;
    return (struct piece){start, (size_t)(quote - start)};
}

// Reads an object, an array, a number or a word, as it is written.
static struct piece read_other(struct members *in) {
    const char *start = in->at;
    int depth = 0;
    for (; in->at < in->end; in->at++) {
        char byte = *in->at;
        if (depth == 0 && (byte == ',' || byte == '}' || byte == ']')) break;
        if (byte == '"') {
            read_string(in);
            in->at--;
        } else if (byte == '{' || byte == '[') {
            depth++;
        } else if ((byte == '}' || byte == ']') && --depth == 0) {
            in->at++;
            break;
        }
    }
    if (depth != 0 || in->at == start) refuse();
    return (struct piece){start, (size_t)(in->at - start)};
}

static struct piece read_value(struct members *in, bool *is_string) {
    skip_spaces(in);
    *is_string = in->at < in->end && *in->at == '"';
    return *is_string ? read_string(in) : read_other(in);
}

// Moves past the comma before the next member or element; returns false at the closing bracket.
static bool begins_another(struct members *in, char bracket) {
    skip_spaces(in);
    if (in->at == in->end) refuse();
    if (*in->at == bracket) return false;
    if (*in->at == ',') in->at++;
    return true;
}

bool next_member(struct members *in, struct piece *key, struct piece *value, bool *is_string) {
    if (!begins_another(in, '}')) return false;
    *key = read_string(in);
    expect(in, ':');
    *value = read_value(in, is_string);
    return true;
}

// Returns the value of a member; an empty piece if there is none.
static struct piece member(struct piece object, struct piece name) {
    struct members in = members_of(object);
    struct piece key, value;
    bool is_string;
    while (next_member(&in, &key, &value, &is_string)) {
        if (equal(key, name)) return value;
    }
    return PIECE("");
}

// MARK: - Events

static const struct kind kinds[] = {
    {PIECE("qr_payment"), PIECE("#D4A017"), PIECE("QR-betaling hos {merchant}"), PIECE("{amount} betalt")},
    {PIECE("transaction_complete"), PIECE("#0B6E35"), PIECE("Overføring til {recipient} fullført"),
     PIECE("{amount} sendt til {country}")},
};

// Renders a template with values of the event's data.
static void render(struct buffer *to, struct piece template, struct piece data) {
    clear(to);
    const char *at = template.bytes, *end = template.bytes + template.size;
    while (at < end) {
        const char *open = memchr(at, '{', (size_t)(end - at));
        add(to, (struct piece){at, (size_t)((open ? open : end) - at)});
        if (open == NULL) return;
        const char *close = memchr(open, '}', (size_t)(end - open));
        struct piece value = member(data, (struct piece){open + 1, (size_t)(close - open - 1)});
        if (value.size == 0) fail("rendering an event", "a value is missing");
        add(to, value);
        at = close + 1;
    }
}

void read_event(struct piece body, struct event *event) {
    struct piece type = PIECE(""), to = PIECE(""), key, value;
    bool is_string;
    event->id = event->target = event->sent_at = PIECE("");
    event->data = event->metadata = PIECE("{}");
    struct members in = members_of(body);
    while (next_member(&in, &key, &value, &is_string)) {
        if (equal(key, PIECE("id"))) event->id = value;
        if (equal(key, PIECE("eventType"))) type = value;
        if (equal(key, PIECE("to"))) to = value;
        if (equal(key, PIECE("data"))) event->data = value;
        if (equal(key, PIECE("targetId"))) event->target = value;
        if (equal(key, PIECE("metadata"))) event->metadata = value;
        if (equal(key, PIECE("sentAtIso"))) event->sent_at = value;
    }
    event->user = member(to, PIECE("user"));
    event->kind = NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (equal(kinds[i].name, type)) event->kind = &kinds[i];
    }
    bool is_known = event->id.size > 0 && event->user.size > 0 && event->kind != NULL;
    if (!is_known) fail("reading an event", "it is not of W1");

    unsigned char hash[SHA256_DIGEST_LENGTH];
    struct buffer *identity = &event->link;
    clear(identity);
    add(identity, event->user);
    add(identity, PIECE(" "));
    add(identity, event->id);
    SHA256((const unsigned char *)identity->bytes, identity->size, hash);
    memcpy(&event->number, hash, sizeof(event->number));
    event->number = (int64_t)__builtin_bswap64((uint64_t)event->number);

    render(&event->title, event->kind->title, event->data);
    render(&event->body, event->kind->body, event->data);
    clear(&event->link);
    add(&event->link, PIECE("/transactions?id="));
    add_encoded(&event->link, event->target);
}

void decide(struct event *event, bool push_enabled, struct piece preferences) {
    struct piece toggles = member(preferences, PIECE("eventToggles"));
    event->unsent = PIECE("");
    if (toggles.size > 0 && equal(member(toggles, event->kind->name), PIECE("false"))) {
        event->unsent = PIECE("type-muted");
    } else if (!push_enabled || equal(member(preferences, PIECE("enabled")), PIECE("false"))) {
        event->unsent = PIECE("push-disabled");
    }
}

void read_devices(struct event *event, struct piece devices) {
    struct members in = {devices.bytes + 1, devices.bytes + devices.size};
    event->device_count = 0;
    while (begins_another(&in, ']')) {
        expect(&in, '[');
        struct piece fields[5] = {{NULL, 0}};
        bool is_string;
        for (int i = 0; begins_another(&in, ']'); i++) {
            struct piece value = read_value(&in, &is_string);
            if (i < 5) fields[i] = value;
        }
        expect(&in, ']');
        if (!equal(fields[3], PIECE("fcm")) || event->device_count == devices_per_user) continue;
        event->devices[event->device_count].token = fields[1];
        // The digits after "sub_".
        event->devices[event->device_count++].target = (int64_t)strtoull(fields[0].bytes + 4, NULL, 16);
    }
}

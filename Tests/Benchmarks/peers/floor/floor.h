// The least that a worker for workload W1 has to do, in C: librabbitmq, libpq, nghttp2 over OpenSSL.
//
// It consumes events in batches of up to 512, finds their users, records them with one statement, pushes them over one
// HTTP/2 connection, settles with one statement and acknowledges. Each thread does this alone, with its own connections.
// Every error ends the process. docs/benchmark-peers.md lists what it does not do.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { batch_size = 512, devices_per_user = 8 };

// Ends the process with a message.
_Noreturn void fail(const char *doing, const char *reason);

// MARK: - Texts

// A part of a text that somebody else owns.
struct piece {
    const char *bytes;
    size_t size;
};

#define PIECE(literal) ((struct piece){literal, sizeof(literal) - 1})

bool equal(struct piece a, struct piece b);

// A text that grows; clear keeps its memory.
struct buffer {
    char *bytes;
    size_t size, capacity;
};

void clear(struct buffer *to);
void add(struct buffer *to, struct piece text);
// Adds a text percent-encoded, as a value in a link.
void add_encoded(struct buffer *to, struct piece text);
// Adds JSON text as the inside of a JSON string.
void add_quoted(struct buffer *to, struct piece json);

// MARK: - Events

// A place in a JSON object whose members are read in turn.
struct members {
    const char *at, *end;
};

struct members members_of(struct piece object);
// Reads the next member; a string's value is without its quotes. Returns false at the end. A string with an escape is an
// error: no event of W1 has one.
bool next_member(struct members *in, struct piece *key, struct piece *value, bool *is_string);

// A type of deploy/catalogs/drop.json5.
struct kind {
    struct piece name, color, title, body;
};

struct event {
    const struct kind *kind;
    struct piece id, user, data, target, metadata, sent_at;
    // The first eight bytes of SHA-256 over user and id.
    int64_t number;
    // The texts of the push, and the path of the web app.
    struct buffer title, body, link;
    // Of the user's row.
    int64_t person;
    // Why there is no push; empty if there is one.
    struct piece unsent;
    struct {
        struct piece token;
        int64_t target;
    } devices[devices_per_user];
    int device_count;
    bool is_new;
};

// Reads an event and renders its texts. The pieces refer to the body.
void read_event(struct piece body, struct event *event);
// Sets the reason if the user wants no push.
void decide(struct event *event, bool push_enabled, struct piece preferences);
// Reads the devices of FCM from [[id, token, platform, provider, permission, …], …].
void read_devices(struct event *event, struct piece devices);

// MARK: - Pushes

struct push {
    const struct event *event;
    struct piece token;
    int64_t target;
    // The request's body, and how much of it was sent.
    struct buffer body;
    size_t sent;
    // The answer.
    int status;
    struct buffer answer;
    // The provider's id of the message, in the answer.
    struct piece name;
};

void write_body(struct push *push);

// One connection to the provider.
struct provider;
struct provider *open_provider(void);
// Sends all pushes and waits for their answers.
void send_pushes(struct provider *provider, struct push *pushes, int count);

// MARK: - Database

struct database;
void create_tables(void);
struct database *open_database(void);
// Fills in the users' numbers, devices and decisions.
void look_up(struct database *database, struct event *events, int count);
// Records the events, which are sorted by number and different, and marks the new ones.
void record(struct database *database, struct event *events, int count);
void settle(struct database *database, const struct push *pushes, int count);

// The value of an environment variable.
const char *setting(const char *name);

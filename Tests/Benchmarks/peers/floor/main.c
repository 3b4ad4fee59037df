#include "floor.h"

#include <pthread.h>
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { thread_count = 3, prefetch = 4096 };

static volatile sig_atomic_t is_stopping = 0;

static void stop(int signal) {
    (void)signal;
    is_stopping = 1;
}

void fail(const char *doing, const char *reason) {
    fprintf(stderr, "%s: %s\n", doing, reason);
    _exit(1);
}

const char *setting(const char *name) {
    const char *value = getenv(name);
    if (value == NULL) fail("reading the environment", name);
    return value;
}

// MARK: - Broker

static void check(amqp_connection_state_t broker, const char *doing) {
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(broker);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    fail(doing, reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION ? amqp_error_string2(reply.library_error)
                                                                    : "the broker refused");
}

static amqp_connection_state_t open_broker(void) {
    struct amqp_connection_info info;
    // The parts of the URL refer to the copy, which is kept.
    if (amqp_parse_url(strdup(setting("AMQP_URL")), &info) != AMQP_STATUS_OK) fail("reading AMQP_URL", "invalid");
    amqp_connection_state_t broker = amqp_new_connection();
    if (amqp_socket_open(amqp_tcp_socket_new(broker), info.host, info.port) != AMQP_STATUS_OK) {
        fail("connecting to the broker", info.host);
    }
    amqp_rpc_reply_t reply = amqp_login(broker, info.vhost, 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN,
                                        info.user, info.password);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) fail("signing in at the broker", info.user);
    amqp_channel_open(broker, 1);
    check(broker, "opening a channel");
    amqp_basic_qos(broker, 1, 0, prefetch, false);
    check(broker, "setting the prefetch");
    amqp_basic_consume(broker, 1, amqp_cstring_bytes(setting("QUEUE")), amqp_empty_bytes, false, false, false,
                       amqp_empty_table);
    check(broker, "consuming");
    return broker;
}

// Waits for a message and takes those that follow within PATIENCE_MS each; returns their number.
static int gather(amqp_connection_state_t broker, amqp_envelope_t *envelopes, int patience) {
    int count = 0;
    while (count < batch_size && !is_stopping) {
        struct timeval timeout = {0, count == 0 ? 200000 : patience * 1000};
        amqp_rpc_reply_t reply = amqp_consume_message(broker, &envelopes[count], &timeout, 0);
        if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
            count++;
        } else if (reply.library_error != AMQP_STATUS_TIMEOUT) {
            fail("consuming", amqp_error_string2(reply.library_error));
        } else if (count > 0) {
            break;
        }
    }
    return count;
}

// MARK: - Batches

static int by_number(const void *left, const void *right) {
    int64_t a = ((const struct event *)left)->number, b = ((const struct event *)right)->number;
    return a < b ? -1 : a > b;
}

// Sorts the events, so that two batches with common keys wait for each other and do not deadlock, and moves repeats to
// the end. Returns the number of different events.
static int sort_events(struct event *events, int count) {
    qsort(events, (size_t)count, sizeof(*events), by_number);
    int different = 1;
    for (int i = 1; i < count; i++) {
        if (events[i].number == events[different - 1].number) continue;
        struct event other = events[different];
        events[different] = events[i];
        events[i] = other;
        different++;
    }
    return different;
}

// Writes a push for each device of the new events; returns their number.
static int write_pushes(const struct event *events, int count, struct push *pushes) {
    int written = 0;
    for (int i = 0; i < count; i++) {
        if (!events[i].is_new || events[i].unsent.size > 0) continue;
        for (int j = 0; j < events[i].device_count; j++) {
            struct push *push = &pushes[written++];
            push->event = &events[i];
            push->token = events[i].devices[j].token;
            push->target = events[i].devices[j].target;
            write_body(push);
        }
    }
    return written;
}

static void *work(void *unused) {
    (void)unused;
    struct database *database = open_database();
    struct provider *provider = open_provider();
    struct event *events = calloc(batch_size, sizeof(*events));
    struct push *pushes = calloc(batch_size * devices_per_user, sizeof(*pushes));
    amqp_envelope_t *envelopes = calloc(batch_size, sizeof(*envelopes));
    amqp_connection_state_t broker = open_broker();
    int patience = atoi(setting("PATIENCE_MS"));
    fprintf(stderr, "consuming\n");
    while (!is_stopping) {
        int count = gather(broker, envelopes, patience);
        if (count == 0) continue;
        for (int i = 0; i < count; i++) {
            amqp_bytes_t body = envelopes[i].message.body;
            events[i].is_new = false;
            read_event((struct piece){body.bytes, body.len}, &events[i]);
        }
        int different = sort_events(events, count);
        look_up(database, events, different);
        record(database, events, different);
        int pushed = write_pushes(events, different, pushes);
        if (pushed > 0) {
            send_pushes(provider, pushes, pushed);
            settle(database, pushes, pushed);
        }
        if (amqp_basic_ack(broker, 1, envelopes[count - 1].delivery_tag, true) != 0) fail("acknowledging", "failed");
        for (int i = 0; i < count; i++) amqp_destroy_envelope(&envelopes[i]);
        amqp_maybe_release_buffers(broker);
    }
    return NULL;
}

int main(void) {
    signal(SIGTERM, stop);
    signal(SIGPIPE, SIG_IGN);
    create_tables();
    pthread_t threads[thread_count];
    for (int i = 0; i < thread_count; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) fail("starting a thread", "no resources");
    }
    for (int i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
    return 0;
}

#define _GNU_SOURCE
#include "floor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct provider {
    SSL *tls;
    nghttp2_session *session;
    char authority[256], path[256], authorization[4096];
    // Streams that are not closed, and bytes that are not sent.
    int open;
    struct buffer output;
};

// MARK: - The request's body

static void add_field(struct buffer *to, struct piece name, struct piece value) {
    add(to, PIECE("\""));
    add(to, name);
    add(to, PIECE("\":\""));
    add(to, value);
    add(to, PIECE("\","));
}

// Writes the members that Bellhop sends. Values are copied as they are, since none has an escape.
void write_body(struct push *push) {
    const struct event *event = push->event;
    struct buffer *to = &push->body;
    struct piece title = {event->title.bytes, event->title.size}, body = {event->body.bytes, event->body.size};
    char id[32];
    struct piece tag = {id, (size_t)snprintf(id, sizeof(id), "noti_%016llx", (unsigned long long)event->number)};
    clear(to);
    add(to, PIECE("{\"message\":{"));
    add_field(to, PIECE("token"), push->token);
    add(to, PIECE("\"notification\":{"));
    add_field(to, PIECE("title"), title);
    add(to, PIECE("\"body\":\""));
    add(to, body);
    add(to, PIECE("\"},\"data\":{"));
    add_field(to, PIECE("notificationId"), tag);
    add_field(to, PIECE("type"), event->kind->name);
    add_field(to, PIECE("eventType"), event->kind->name);
    add(to, PIECE("\"route\":\"/(tabs)/history?id="));
    add_encoded(to, event->target);
    add(to, PIECE("\","));
    add_field(to, PIECE("targetId"), event->target);
    add(to, PIECE("\"metadata\":\""));
    add_quoted(to, event->metadata);
    add(to, PIECE("\","));
    add_field(to, PIECE("sentAtIso"), event->sent_at);
    add_field(to, PIECE("link"), (struct piece){event->link.bytes, event->link.size});
    add(to, PIECE("\"scheme\":\"drop://transactions/"));
    add_encoded(to, event->target);
    add(to, PIECE("\""));
    struct members in = members_of(event->data);
    struct piece key, value;
    bool is_string;
    while (next_member(&in, &key, &value, &is_string)) {
        if (!is_string) fail("writing a push", "a value of the event is not a text");
        add(to, PIECE(",\""));
        add(to, key);
        add(to, PIECE("\":\""));
        add(to, value);
        add(to, PIECE("\""));
    }
    add(to, PIECE("},\"android\":{\"priority\":\"HIGH\",\"notification\":{"));
    add_field(to, PIECE("tag"), tag);
    add_field(to, PIECE("channel_id"), PIECE("transactions"));
    add_field(to, PIECE("notification_priority"), PIECE("PRIORITY_DEFAULT"));
    add_field(to, PIECE("sound"), PIECE("default"));
    add(to, PIECE("\"color\":\""));
    add(to, event->kind->color);
    add(to, PIECE("\"}}}}"));
}

// MARK: - Callbacks of nghttp2

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *context) {
    (void)session, (void)stream, (void)context;
    struct push *push = source->ptr;
    size_t rest = push->body.size - push->sent;
    size_t count = rest < room ? rest : room;
    memcpy(to, push->body.bytes + push->sent, count);
    push->sent += count;
    if (push->sent == push->body.size) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)count;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags, void *context) {
    (void)flags, (void)context, (void)value_size;
    struct push *push = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (push && name_size == 7 && memcmp(name, ":status", 7) == 0) push->status = atoi((const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t size,
                   void *context) {
    (void)flags, (void)context;
    struct push *push = nghttp2_session_get_stream_user_data(session, stream);
    if (push) add(&push->answer, (struct piece){(const char *)bytes, size});
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *context) {
    (void)session, (void)stream;
    if (error != NGHTTP2_NO_ERROR) fail("pushing", nghttp2_http2_strerror(error));
    ((struct provider *)context)->open--;
    return 0;
}

// MARK: - Connection

static int connect_to(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(host, port, &hints, &found) != 0) fail("looking up the provider", host);
    int descriptor = socket(found->ai_family, SOCK_STREAM, 0);
    if (descriptor < 0 || connect(descriptor, found->ai_addr, found->ai_addrlen) != 0) {
        fail("connecting to the provider", host);
    }
    freeaddrinfo(found);
    int yes = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return descriptor;
}

static SSL *open_tls(int descriptor, const char *host) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (SSL_CTX_load_verify_locations(context, setting("PUSH_CA"), NULL) != 1) fail("reading the authority", "invalid");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3);
    SSL *tls = SSL_new(context);
    // The provider's name is an address or a host's name.
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) != 1) {
        SSL_set1_host(tls, host);
        SSL_set_tlsext_host_name(tls, host);
    }
    SSL_set_fd(tls, descriptor);
    if (SSL_connect(tls) != 1) fail("connecting to the provider", "TLS failed");
    return tls;
}

static nghttp2_session *open_session(struct provider *provider) {
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_client_new(&session, callbacks, provider) != 0) fail("opening HTTP/2", "out of memory");
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 1);
    return session;
}

struct provider *open_provider(void) {
    struct provider *provider = calloc(1, sizeof(*provider));
    char host[200], port[8];
    const char *url = setting("PUSH_URL");
    if (sscanf(url, "https://%199[^:]:%7[0-9]%255s", host, port, provider->path) != 3) fail("reading PUSH_URL", url);
    snprintf(provider->authority, sizeof(provider->authority), "%s:%s", host, port);
    snprintf(provider->authorization, sizeof(provider->authorization), "Bearer %s", setting("ACCESS_TOKEN"));
    provider->tls = open_tls(connect_to(host, port), host);
    provider->session = open_session(provider);
    return provider;
}

static nghttp2_nv header(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

static void submit(struct provider *provider, struct push *push) {
    char length[16];
    snprintf(length, sizeof(length), "%zu", push->body.size);
    nghttp2_nv headers[] = {
        header(":method", "POST"), header(":scheme", "https"), header(":authority", provider->authority),
        header(":path", provider->path), header("authorization", provider->authorization),
        header("content-type", "application/json"), header("content-length", length),
    };
    // The length is on the stack until this function returns, so it is copied.
    headers[6].flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
    nghttp2_data_provider body = {{.ptr = push}, read_body};
    push->sent = 0;
    push->status = 0;
    clear(&push->answer);
    if (nghttp2_submit_request(provider->session, NULL, headers, 7, &body, push) < 0) fail("pushing", "out of streams");
    provider->open++;
}

// Writes all frames that the session may send now, in few records.
static void flush(struct provider *provider) {
    const uint8_t *bytes;
    ssize_t size;
    clear(&provider->output);
    while ((size = nghttp2_session_mem_send(provider->session, &bytes)) > 0) {
        add(&provider->output, (struct piece){(const char *)bytes, (size_t)size});
    }
    if (size < 0) fail("pushing", nghttp2_strerror((int)size));
    if (provider->output.size == 0) return;
    if (SSL_write(provider->tls, provider->output.bytes, (int)provider->output.size) <= 0) {
        fail("pushing", "the provider closed the connection");
    }
}

void send_pushes(struct provider *provider, struct push *pushes, int count) {
    static _Thread_local uint8_t input[65536];
    for (int i = 0; i < count; i++) submit(provider, &pushes[i]);
    while (provider->open > 0) {
        flush(provider);
        int size = SSL_read(provider->tls, input, sizeof(input));
        if (size <= 0) fail("pushing", "the provider closed the connection");
        ssize_t taken = nghttp2_session_mem_recv(provider->session, input, (size_t)size);
        if (taken < 0) fail("pushing", nghttp2_strerror((int)taken));
    }
    for (int i = 0; i < count; i++) {
        struct push *push = &pushes[i];
        if (push->status != 200) fail("pushing", "the provider answered with an error");
        // FCM answers {"name": "projects/…"}.
        char *colon = memchr(push->answer.bytes, ':', push->answer.size);
        char *end = push->answer.bytes + push->answer.size;
        char *start = colon ? memchr(colon, '"', (size_t)(end - colon)) : NULL;
        char *quote = start ? memchr(start + 1, '"', (size_t)(end - start - 1)) : NULL;
        if (quote == NULL) fail("pushing", "the provider's answer has no name");
        push->name = (struct piece){start + 1, (size_t)(quote - start - 1)};
    }
}

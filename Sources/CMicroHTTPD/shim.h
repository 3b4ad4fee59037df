#pragma once

// libmicrohttpd's header relies on these being included first.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <microhttpd.h>

// Swift sees neither variadic functions nor casted macros.

// What a daemon is started with; its order is that of the options below.
struct bellhop_daemon_options {
    int listen_socket;
    size_t connection_memory;
    unsigned int connections;
    unsigned int idle_seconds;
    void *context;
    MHD_AccessHandlerCallback on_access;
    void *(*on_uri)(void *context, const char *uri, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback on_completed;
    MHD_NotifyConnectionCallback on_connection;
};

// Leaves escapes alone: decoding before the path is split would let %2F make segments and %00 end texts.
static size_t bellhop_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void) context;
    (void) connection;
    return strlen(text);
}

// One thread of its own that polls with epoll; connections may be suspended.
static inline struct MHD_Daemon *bellhop_start_daemon(const struct bellhop_daemon_options *options) {
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        options->on_access, options->context,
        MHD_OPTION_LISTEN_SOCKET, options->listen_socket,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_memory,
        MHD_OPTION_CONNECTION_LIMIT, options->connections,
        MHD_OPTION_CONNECTION_TIMEOUT, options->idle_seconds,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, options->on_uri, options->context,
        MHD_OPTION_UNESCAPE_CALLBACK, &bellhop_keep_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, options->on_completed, options->context,
        MHD_OPTION_NOTIFY_CONNECTION, options->on_connection, options->context,
        MHD_OPTION_END
    );
}

// The connection's socket, or -1.
static inline int bellhop_connection_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// A response of unknown length that is read piece by piece.
static inline struct MHD_Response *bellhop_stream_response(
    MHD_ContentReaderCallback read, void *context, MHD_ContentReaderFreeCallback release
) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read, context, release);
}

// Whether the fields of a head stay where they were received, with NUL in place of each line break.
static const _Bool bellhop_keeps_lines = MHD_VERSION < 0x01000000;

// Constants under names that do not depend on how Swift imports the enumerations of one version or another.
static const enum MHD_Result bellhop_yes = MHD_YES;
static const enum MHD_Result bellhop_no = MHD_NO;
static const enum MHD_ValueKind bellhop_header_kind = MHD_HEADER_KIND;
static const enum MHD_ResponseMemoryMode bellhop_must_copy = MHD_RESPMEM_MUST_COPY;
static const enum MHD_ConnectionNotificationCode bellhop_connection_started = MHD_CONNECTION_NOTIFY_STARTED;
static const ssize_t bellhop_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;

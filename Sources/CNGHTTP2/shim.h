#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <nghttp2/nghttp2.h>

// Constants under names and types that do not depend on how Swift imports the enumerations of one version or another.
static const uint8_t bellhop_frame_headers = NGHTTP2_HEADERS;
static const uint8_t bellhop_frame_data = NGHTTP2_DATA;
static const uint8_t bellhop_frame_reset = NGHTTP2_RST_STREAM;
static const uint8_t bellhop_frame_settings = NGHTTP2_SETTINGS;
static const uint8_t bellhop_frame_goaway = NGHTTP2_GOAWAY;
static const uint8_t bellhop_frame_ping = NGHTTP2_PING;
static const uint8_t bellhop_flag_ack = NGHTTP2_FLAG_ACK;
static const uint8_t bellhop_flag_end_stream = NGHTTP2_FLAG_END_STREAM;
static const uint8_t bellhop_no_flags = NGHTTP2_FLAG_NONE;
static const uint8_t bellhop_no_field_flags = NGHTTP2_NV_FLAG_NONE;
static const uint32_t bellhop_data_end = NGHTTP2_DATA_FLAG_EOF;
static const uint32_t bellhop_no_error = NGHTTP2_NO_ERROR;
static const uint32_t bellhop_internal_error = NGHTTP2_INTERNAL_ERROR;
static const uint32_t bellhop_refused_stream = NGHTTP2_REFUSED_STREAM;
static const uint32_t bellhop_cancel = NGHTTP2_CANCEL;
static const int bellhop_stream_failed = NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
static const int bellhop_deferred = NGHTTP2_ERR_DEFERRED;
static const int bellhop_callback_failed = NGHTTP2_ERR_CALLBACK_FAILURE;

// What a session tells the client first.
static inline int bellhop_submit_server_settings(nghttp2_session *session, uint32_t streams, uint32_t header_bytes) {
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, header_bytes},
    };
    return nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, sizeof(entries) / sizeof(entries[0]));
}

// The kind of request a HEADERS frame belongs to: 1 for one that opens a stream, 0 for anything else, trailers too.
static inline int bellhop_opens_request(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

// What a session tells the server first: nothing is to be pushed, and answers come in one piece.
static inline int bellhop_submit_client_settings(nghttp2_session *session, uint32_t window, uint32_t header_bytes) {
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, header_bytes},
    };
    return nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, sizeof(entries) / sizeof(entries[0]));
}

// How many streams the server allows at once.
static inline uint32_t bellhop_allowed_streams(nghttp2_session *session) {
    return nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

#pragma once

#include <zlib.h>

// Macros in zlib, which Swift cannot see.

static const int bellhop_zlib_gzip_window = 15 + 16;

static inline int bellhop_deflate_init_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, bellhop_zlib_gzip_window, 8, Z_DEFAULT_STRATEGY);
}

static inline int bellhop_inflate_init_gzip(z_stream *stream) {
    return inflateInit2(stream, bellhop_zlib_gzip_window);
}

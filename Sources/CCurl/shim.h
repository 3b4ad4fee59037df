#pragma once

#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x075800
#error "libcurl 7.88 or later is needed"
#endif

/* Members of enumerations in libcurl 7.88, macros of a number in 8.14: Swift sees different types. */
static const long bellhop_netrc_ignored = CURL_NETRC_IGNORED;
static const long bellhop_use_ssl_always = CURLUSESSL_ALL;

/* libcurl's option calls are variadic, which Swift cannot import: one call per kind of value. */

static inline CURLcode bellhop_easy_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode bellhop_easy_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode bellhop_easy_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode bellhop_easy_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode bellhop_easy_set_headers(CURL *handle, struct curl_slist *lines) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, lines);
}

static inline CURLcode bellhop_easy_set_read(CURL *handle, curl_read_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, callback);
}

static inline CURLcode bellhop_easy_set_seek(CURL *handle, curl_seek_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}

static inline CURLcode bellhop_easy_set_write(CURL *handle, CURLoption option, curl_write_callback callback) {
    return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode bellhop_easy_set_socket(CURL *handle, curl_sockopt_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, callback);
}

static inline CURLcode bellhop_easy_set_recipients(CURL *handle, struct curl_slist *addresses) {
    return curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, addresses);
}

static inline CURLcode bellhop_easy_set_debug(CURL *handle, curl_debug_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, callback);
}

static inline CURLcode bellhop_easy_set_progress(CURL *handle, curl_xferinfo_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callback);
}

static inline CURLcode bellhop_easy_set_prerequest(CURL *handle, curl_prereq_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode bellhop_easy_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode bellhop_easy_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

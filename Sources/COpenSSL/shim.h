#pragma once

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Frees what OpenSSL allocated; its own name for this is a macro.
static inline void bellhop_openssl_free(void *memory) {
    OPENSSL_free(memory);
}

// Keeps this process's memory, with the keys in it, out of core files and away
// from the debuggers of its own user. Returns 1 if both hold from now on.
static inline int bellhop_forbid_dumps(void) {
    struct rlimit none = {0, 0};
    int is_limited = setrlimit(RLIMIT_CORE, &none) == 0;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && is_limited;
}

// Swift sees neither variadic functions nor casted macros.

// A fresh key on the curve P-256, or NULL.
static inline EVP_PKEY *bellhop_generate_p256(void) {
    return EVP_EC_gen("P-256");
}

// A fresh RSA key, or NULL.
static inline EVP_PKEY *bellhop_generate_rsa(unsigned int bits) {
    return EVP_RSA_gen(bits);
}

// Adds an extension in OpenSSL's own notation; 1 on success.
static inline int bellhop_add_extension(X509 *issuer, X509 *subject, int kind, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, subject, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    if (!extension) return 0;
    int added = X509_add_ext(subject, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

// What a memory BIO holds: the number of bytes, and where they are until the BIO is next used.
static inline long bellhop_bio_contents(BIO *bio, char **start) {
    return BIO_get_mem_data(bio, start);
}

// Takes "h2" from what the client offers, and ends the handshake where it is not among it.
static int bellhop_select_h2(
    SSL *ssl, const unsigned char **chosen, unsigned char *length,
    const unsigned char *offered, unsigned int offered_length, void *context
) {
    (void) ssl;
    (void) context;
    for (unsigned int at = 0; at + 2 < offered_length; at += offered[at] + 1u) {
        if (offered[at] == 2 && memcmp(offered + at + 1, "h2", 2) == 0) {
            *chosen = offered + at + 1;
            *length = 2;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// TLS 1.2 or later, h2 alone, many records per read; writes may be repeated from another address.
static inline void bellhop_prepare_h2_server(SSL_CTX *context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 64 * 1024);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, bellhop_select_h2, NULL);
}

// TLS 1.2 or later, "h2" offered alone, the peer's certificate checked; writes may be repeated from another address.
static inline void bellhop_prepare_h2_client(SSL_CTX *context) {
    static const unsigned char h2[] = {2, 'h', '2'};
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 64 * 1024);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context, h2, sizeof(h2));
}

// Tells the server which of its names is meant; 1 on success.
static inline int bellhop_name_host(SSL *ssl, const char *host) {
    return (int) SSL_set_tlsext_host_name(ssl, host);
}

// Puts a memory of that many bytes between the connection's records and its socket, and returns it; NULL if there is no
// memory. The connection owns it.
static inline BIO *bellhop_collect_output(SSL *ssl, long bytes) {
    BIO *socket = SSL_get_wbio(ssl);
    BIO *collector = BIO_new(BIO_f_buffer());
    if (!collector) return NULL;
    if (BIO_set_write_buffer_size(collector, bytes) != 1 || !BIO_up_ref(socket)) {
        BIO_free(collector);
        return NULL;
    }
    BIO_push(collector, socket);
    SSL_set0_wbio(ssl, collector);
    return collector;
}

// Sends what a memory holds; 1 if it is empty afterwards.
static inline int bellhop_flush(BIO *collector) {
    return (int) BIO_flush(collector);
}

// SHA-256 of bytes in one piece, into 32 bytes.
//
// By the functions of the algorithm itself, which OpenSSL 3 calls deprecated: its successor looks the algorithm up and
// takes memory for each digest, which costs more than the digest of a short text.
static inline void bellhop_sha256(const void *bytes, size_t length, unsigned char *digest) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes, length);
    SHA256_Final(digest, &context);
#pragma clang diagnostic pop
}

// The kind of text in a name, whatever type the macro has.
static const int bellhop_utf8_text = MBSTRING_UTF8;

// The key of an uncompressed point of P-256, or NULL; whether the point lies on the curve is checked by OpenSSL.
static inline EVP_PKEY *bellhop_p256_from_point(const unsigned char *point, size_t length) {
    EVP_PKEY *key = NULL;
    char curve[] = "prime256v1";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *) point, length),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (!context) return NULL;
    if (EVP_PKEY_fromdata_init(context) <= 0 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) <= 0) key = NULL;
    EVP_PKEY_CTX_free(context);
    return key;
}

// HKDF with SHA-256 by OpenSSL's own derivation; 1 on success.
static inline int bellhop_hkdf_sha256(
    const unsigned char *secret, size_t secret_length, const unsigned char *salt, size_t salt_length,
    const unsigned char *info, size_t info_length, unsigned char *output, size_t output_length
) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *) secret, secret_length),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *) salt, salt_length),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *) info, info_length),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kind = EVP_KDF_fetch(NULL, "HKDF", NULL);
    if (!kind) return 0;
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(kind);
    EVP_KDF_free(kind);
    if (!context) return 0;
    int derived = EVP_KDF_derive(context, output, output_length, parameters) > 0;
    EVP_KDF_CTX_free(context);
    return derived;
}

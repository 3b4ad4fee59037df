#pragma once

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

// Frees what OpenSSL allocated; its own name for this is a macro.
static inline void bellhop_openssl_free(void *memory) {
    OPENSSL_free(memory);
}

#pragma once

// librabbitmq's headers use `struct timeval` without including it.
#include <stdint.h>
#include <sys/time.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// From 0.12 on the old names are forwarders that warn.
#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <rabbitmq-c/ssl_socket.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#endif

// Variadic functions are invisible to Swift.
static inline amqp_rpc_reply_t bellhop_amqp_login_plain(
    amqp_connection_state_t state, const char *vhost, int frame_max,
    int heartbeat, const amqp_table_t *properties, const char *user,
    const char *password) {
  return amqp_login_with_properties(state, vhost, 0, frame_max, heartbeat,
                                    properties, AMQP_SASL_METHOD_PLAIN, user,
                                    password);
}

// TLS 1.2 at least, the chain verified, and the certificate's alternative names compared
// with `host` by OpenSSL itself: librabbitmq 0.11 knows no IP addresses and no
// TLS minimum beyond "not SSL 3". Returns 1, or 0 if OpenSSL refused.
static inline int bellhop_amqp_tls_harden(amqp_socket_t *socket,
                                          const char *host, int host_is_ip,
                                          int system_authorities) {
  SSL_CTX *context = (SSL_CTX *)amqp_ssl_socket_get_context(socket);
  X509_VERIFY_PARAM *checks = SSL_CTX_get0_param(context);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) return 0;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  X509_VERIFY_PARAM_set_hostflags(checks,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                      X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (host_is_ip) {
    if (X509_VERIFY_PARAM_set1_ip_asc(checks, host) != 1) return 0;
    amqp_ssl_socket_set_verify_hostname(socket, 0);
  } else if (X509_VERIFY_PARAM_set1_host(checks, host, 0) != 1) {
    return 0;
  }
  if (system_authorities) return SSL_CTX_set_default_verify_paths(context);
  return 1;
}

// The reason of this thread's latest OpenSSL error ("certificate verify
// failed"), or NULL.
static inline const char *bellhop_amqp_tls_reason(void) {
  unsigned long error = ERR_peek_last_error();
  return error == 0 ? NULL : ERR_reason_error_string(error);
}

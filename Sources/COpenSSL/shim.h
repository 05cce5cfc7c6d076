#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// The library that libcurl does TLS with. What it has as macros only gets a typed form here.

static inline int copenssl_certificate_count(const STACK_OF(X509) *chain) { return chain ? sk_X509_num(chain) : 0; }

static inline X509 *copenssl_certificate(const STACK_OF(X509) *chain, int index) { return sk_X509_value(chain, index); }

static inline void copenssl_free_certificates(STACK_OF(X509) *chain) { sk_X509_pop_free(chain, X509_free); }

static inline int copenssl_name_count(const STACK_OF(X509_NAME) *names) { return names ? sk_X509_NAME_num(names) : 0; }

static inline X509_NAME *copenssl_name(const STACK_OF(X509_NAME) *names, int index) {
    return sk_X509_NAME_value(names, index);
}

static inline STACK_OF(X509_CRL) *copenssl_new_revocation_lists(void) { return sk_X509_CRL_new_null(); }

static inline int copenssl_add_revocation_list(STACK_OF(X509_CRL) *lists, X509_CRL *list) {
    return sk_X509_CRL_push(lists, list);
}

static inline int copenssl_revocation_list_count(const STACK_OF(X509_CRL) *lists) { return sk_X509_CRL_num(lists); }

static inline void copenssl_free_revocation_lists(STACK_OF(X509_CRL) *lists) {
    sk_X509_CRL_pop_free(lists, X509_CRL_free);
}

/// A place for a pointer in every SSL_CTX, given to `release` when the SSL_CTX goes.
static inline int copenssl_new_context_index(CRYPTO_EX_free *release) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release);
}

/// The connection whose certificate is being verified.
static inline SSL *copenssl_connection_of(X509_STORE_CTX *verification) {
    return X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
}

/// The content of a memory BIO.
static inline long copenssl_memory(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }

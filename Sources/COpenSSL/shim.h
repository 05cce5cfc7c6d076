#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// The library that libcurl does TLS with. Its macros get a typed form here.

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

/// The form in which RFC 4514 writes names, except that characters beyond ASCII stay as they are.
static inline unsigned long copenssl_name_form(void) { return XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB; }

// MARK: The derivation of keys

static inline void copenssl_free(void *memory) { OPENSSL_free(memory); }

/// A count that a file states; one that is negative or too large for its type is the greatest.
static inline uint64_t copenssl_count(const ASN1_INTEGER *number) {
    uint64_t count = 0;
    return number != NULL && ASN1_INTEGER_get_uint64(&count, number) == 1 ? count : UINT64_MAX;
}

static inline void *copenssl_parameters(const X509_ALGOR *algorithm, const ASN1_ITEM *form) {
    return algorithm == NULL ? NULL : ASN1_TYPE_unpack_sequence(form, algorithm->parameter);
}

static inline PBE2PARAM *copenssl_pbes2(const X509_ALGOR *algorithm) {
    return copenssl_parameters(algorithm, ASN1_ITEM_rptr(PBE2PARAM));
}

static inline PBKDF2PARAM *copenssl_pbkdf2(const X509_ALGOR *algorithm) {
    return copenssl_parameters(algorithm, ASN1_ITEM_rptr(PBKDF2PARAM));
}

static inline SCRYPT_PARAMS *copenssl_scrypt(const X509_ALGOR *algorithm) {
    return copenssl_parameters(algorithm, ASN1_ITEM_rptr(SCRYPT_PARAMS));
}

static inline PBEPARAM *copenssl_pbes1(const X509_ALGOR *algorithm) {
    return copenssl_parameters(algorithm, ASN1_ITEM_rptr(PBEPARAM));
}

static inline int copenssl_algorithm(const X509_ALGOR *algorithm) { return OBJ_obj2nid(algorithm->algorithm); }

static inline const X509_ALGOR *copenssl_encryption(const X509_SIG *key) {
    const X509_ALGOR *algorithm = NULL;
    if (key != NULL) X509_SIG_get0(key, &algorithm, NULL);
    return algorithm;
}

static inline int copenssl_safe_count(const STACK_OF(PKCS7) *safes) { return safes ? sk_PKCS7_num(safes) : 0; }

static inline PKCS7 *copenssl_safe(const STACK_OF(PKCS7) *safes, int index) { return sk_PKCS7_value(safes, index); }

static inline void copenssl_free_safes(STACK_OF(PKCS7) *safes) { sk_PKCS7_pop_free(safes, PKCS7_free); }

/// The encryption of a safe; nil for one that is not encrypted.
static inline const X509_ALGOR *copenssl_safe_encryption(const PKCS7 *safe) {
    return PKCS7_type_is_encrypted(safe) ? safe->d.encrypted->enc_data->algorithm : NULL;
}

static inline STACK_OF(PKCS12_SAFEBAG) *copenssl_open_safe(PKCS7 *safe, const char *passphrase) {
    if (PKCS7_type_is_data(safe)) return PKCS12_unpack_p7data(safe);
    return PKCS7_type_is_encrypted(safe) ? PKCS12_unpack_p7encdata(safe, passphrase, passphrase ? -1 : 0) : NULL;
}

static inline int copenssl_bag_count(const STACK_OF(PKCS12_SAFEBAG) *bags) {
    return bags ? sk_PKCS12_SAFEBAG_num(bags) : 0;
}

static inline PKCS12_SAFEBAG *copenssl_bag(const STACK_OF(PKCS12_SAFEBAG) *bags, int index) {
    return sk_PKCS12_SAFEBAG_value(bags, index);
}

static inline void copenssl_free_bags(STACK_OF(PKCS12_SAFEBAG) *bags) {
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}

/// The encrypted key in a bag; nil when there is something else in it.
static inline const X509_SIG *copenssl_encrypted_key(const PKCS12_SAFEBAG *bag) {
    return PKCS12_SAFEBAG_get_nid(bag) == NID_pkcs8ShroudedKeyBag ? PKCS12_SAFEBAG_get0_pkcs8(bag) : NULL;
}

/// The bags in a bag; nil when there is something else in it.
static inline const STACK_OF(PKCS12_SAFEBAG) *copenssl_bags(const PKCS12_SAFEBAG *bag) {
    return PKCS12_SAFEBAG_get_nid(bag) == NID_safeContentsBag ? PKCS12_SAFEBAG_get0_safes(bag) : NULL;
}

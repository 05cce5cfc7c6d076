#pragma once
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>
#include <string.h>

// Macros and structures of pointers of the library get a typed form here.

/// SPNEGO (RFC 4178).
static inline gss_OID cgssapi_spnego(void) {
    static gss_OID_desc mechanism = {6, "\x2b\x06\x01\x05\x05\x02"};
    return &mechanism;
}

/// The form `service@host`.
static inline gss_OID cgssapi_service_name(void) { return GSS_C_NT_HOSTBASED_SERVICE; }

/// The form `user@REALM`.
static inline gss_OID cgssapi_user_name(void) { return GSS_C_NT_USER_NAME; }

static inline int cgssapi_has_failed(OM_uint32 major) { return GSS_ERROR(major) != 0; }

static inline int cgssapi_goes_on(OM_uint32 major) { return (major & GSS_S_CONTINUE_NEEDED) != 0; }

static inline OM_uint32 cgssapi_no_credential(void) { return GSS_S_NO_CRED; }

/// Leaves Kerberos as the one mechanism that SPNEGO may choose with a credential.
static inline OM_uint32 cgssapi_keep_kerberos(OM_uint32 major, OM_uint32 *minor, gss_cred_id_t credential) {
    gss_OID_set_desc kerberos = {1, (gss_OID)gss_mech_krb5};
    return GSS_ERROR(major) ? major : gss_set_neg_mechs(minor, credential, &kerberos);
}

/// Kerberos credentials for initiating: of a ticket cache, or by a keytab into a ticket cache; null for the default.
static inline OM_uint32 cgssapi_acquire(
    OM_uint32 *minor, gss_name_t name, const char *cache, const char *keytab, gss_cred_id_t *credential
) {
    gss_OID_set_desc mechanisms = {1, cgssapi_spnego()};
    gss_key_value_element_desc elements[2];
    gss_key_value_set_desc store = {0, elements};
    if (cache) elements[store.count++] = (gss_key_value_element_desc){"ccache", cache};
    if (keytab) elements[store.count++] = (gss_key_value_element_desc){"client_keytab", keytab};
    OM_uint32 major = gss_acquire_cred_from(
        minor, name, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE, store.count ? &store : NULL, credential, NULL, NULL);
    return cgssapi_keep_kerberos(major, minor, *credential);
}

/// Kerberos credentials for initiating by a password, in a cache of their own.
static inline OM_uint32 cgssapi_acquire_with_password(
    OM_uint32 *minor, gss_name_t name, gss_buffer_t password, gss_cred_id_t *credential
) {
    gss_OID_set_desc mechanisms = {1, cgssapi_spnego()};
    OM_uint32 major = gss_acquire_cred_with_password(
        minor, name, password, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE, credential, NULL, NULL);
    return cgssapi_keep_kerberos(major, minor, *credential);
}

/// A file in memory that has no name: where the library takes files alone. C's headers show the call to GNU programs only.
static inline int cgssapi_unnamed_file(void) {
    extern int memfd_create(const char *name, unsigned int flags);
    return memfd_create("kerberos", 1 /* MFD_CLOEXEC */);
}

/// Whether the library reads its configuration from this file and no other: it ignores the environment of a program
/// that was given privileges.
static inline int cgssapi_is_configured_by(const char *path) {
    char **files = NULL;
    if (krb5_get_default_config_files(&files) != 0) return 0;
    int is_only_one = files[0] && strcmp(files[0], path) == 0 && !files[1];
    krb5_free_config_files(files);
    return is_only_one;
}

/// Takes one step of a SPNEGO conversation that proves both sides, and is bound to a channel; no bytes for none.
///
/// With `delegates` the service is handed tickets that were forwarded to it.
static inline OM_uint32 cgssapi_step(
    OM_uint32 *minor, gss_cred_id_t credential, gss_ctx_id_t *context, gss_name_t target, int delegates,
    gss_buffer_t channel, gss_buffer_t input, gss_buffer_t output
) {
    struct gss_channel_bindings_struct bindings = {.application_data = *channel};
    OM_uint32 flags = GSS_C_MUTUAL_FLAG | GSS_C_REPLAY_FLAG | (delegates ? GSS_C_DELEG_FLAG : 0);
    return gss_init_sec_context(
        minor, credential, context, target, cgssapi_spnego(), flags, 0,
        channel->length ? &bindings : GSS_C_NO_CHANNEL_BINDINGS, input, NULL, output, NULL, NULL);
}

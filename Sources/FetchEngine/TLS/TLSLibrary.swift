import COpenSSL

/// OpenSSL as the whole process uses it: a setting that only a program changes.
package enum TLSLibrary {
    /// Keeps OpenSSL usable until the process has ended.
    ///
    /// By default `exit` frees its locks while other threads may still be inside it, and the process ends by a signal
    /// instead. Call it once, before the first load.
    package static func keepUntilEnd() { OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }
}

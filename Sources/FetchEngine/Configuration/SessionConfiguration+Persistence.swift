import Glibc

extension SessionConfiguration {
    /// The defaults, with a cache and cookies on disk.
    ///
    /// The directory is the program's own: it is made when it is missing, and only its user may read it. The cache is
    /// ``DiskResponseCache`` in its folder `cache`, the cookies ``FileCookieStorage`` in its file `cookies`; one
    /// process at a time may use them. Copies of the configuration share both. Credentials are not kept there: this
    /// system has no keychain, so permanent ones need a ``credentialStorage`` of the program's own.
    ///
    /// - Parameters:
    ///   - directory: Where to; its parent must be there.
    ///   - memoryCapacity: How many bytes of answers are kept in memory; 4 MiB by default.
    ///   - diskCapacity: How many bytes of answers are kept on disk; 256 MiB by default.
    /// - Throws: `cannotCreateFile`, `cannotOpenFile`, or `cannotDecodeRawData` when the cookies cannot be read.
    public static func persistent(
        in directory: String, memoryCapacity: Int64 = 4 * 1024 * 1024, diskCapacity: Int64 = 256 * 1024 * 1024
    ) throws(LoadError) -> SessionConfiguration {
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw LoadError(.cannotCreateFile, errno: errno) }
        var configuration = SessionConfiguration()
        configuration.httpCookieStorage = try FileCookieStorage(path: "\(directory)/cookies")
        configuration.urlCache = DiskResponseCache(
            memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, location: "\(directory)/cache")
        return configuration
    }

    /// Has a session keep nothing of its loads, and use nothing that is kept: no cookies, answers or credentials.
    package mutating func removeStorages() { (httpCookieStorage, urlCache, credentialStorage) = (nil, nil, nil) }
}

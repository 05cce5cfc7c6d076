/// Passwords that whoever finds a database tries first: those of manuals, of images, and the names in the same string.
package enum GuessablePassword {
    private static let known: Set = [
        "1234", "12345", "123456", "12345678", "123456789", "1234567890", "abc123", "admin", "administrator",
        "changeit", "changeme", "database", "default", "example", "fetchd", "letmein", "master", "mypassword",
        "mysecretpassword", "pass", "passw0rd", "password", "password1", "pgadmin", "pgpass", "postgres", "postgresql",
        "postgrespw", "qwerty", "root", "secret", "secretpassword", "test", "topsecret", "user", "yourpassword",
    ]

    /// Whether one is used for a server that others can reach, too: one that is not of this machine alone.
    ///
    /// A text that cannot be read has none; who connects with it tells what is wrong.
    package static func isUsed(in connectionString: String) -> Bool {
        guard let parameters = try? ConnectionParameters(connectionString, standards: [:], patience: .seconds(1)),
            let password = parameters.password?.lowercased()
        else { return false }
        let names = [parameters.values["user"], parameters.values["dbname"]].compactMap { $0?.lowercased() }
        guard known.contains(password) || names.contains(password) else { return false }
        return !parameters.candidates.allSatisfy { $0.place?.isOfThisMachine == true }
    }
}

extension ServerPlace {
    /// Whether it is a socket or a loopback address, without a look at any name server.
    fileprivate var isOfThisMachine: Bool {
        let host = address ?? host
        return host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
            || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
    }
}

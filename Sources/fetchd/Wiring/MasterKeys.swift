import FetchStorage
import FoundationEssentials
import Glibc
import SystemPackage

/// Where the master keys come from: the environment, or a file in the data directory that is made at the first start.
enum MasterKeys {
    private static let fileName = "master.keys"

    /// - Throws: A configuration error that names the next step.
    static func fire(_ settings: Settings) throws -> KeyRing {
        do {
            return try KeyRing(try text(settings))
        } catch let error as KeyRing.Failure {
            throw ExitError(.configuration, "FETCHD_MASTER_KEYS: \(error)")
        }
    }

    private static func text(_ settings: Settings) throws -> String {
        if let keys = settings.masterKeys { return keys }
        let path = "\(settings.dataDirectory)/\(fileName)"
        if FileManager.default.fileExists(atPath: path) { return try read(path) }
        guard settings.databaseURL == nil else {
            throw ExitError(
                .configuration,
                """
                with an external database every node needs the same master keys: set FETCHD_MASTER_KEYS to \
                "1:" and 32 random bytes in base64, as from: echo "1:$(head -c 32 /dev/urandom | base64)"
                """
            )
        }
        return try create(path)
    }

    private static func read(_ path: String) throws -> String {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        // SEC-53.
        if let mode = attributes[.posixPermissions] as? Int, mode & 0o077 != 0 {
            throw ExitError(.configuration, "\(path) can be read by others; make it private with: chmod 600 \(path)")
        }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    private static func create(_ path: String) throws -> String {
        let directory = FilePath(path).removingLastComponent().string
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let text = KeyRing.generate()
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // Another process may have made it in between: then its keys are the ones.
        guard descriptor >= 0 else { return try read(path) }
        let file = FileDescriptor(rawValue: descriptor)
        try file.closeAfter {
            try file.writeAll((text + "\n").utf8)
            guard fsync(descriptor) == 0 else { throw Errno(rawValue: errno) }
        }
        return text
    }
}

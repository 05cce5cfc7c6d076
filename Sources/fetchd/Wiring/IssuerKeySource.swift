import FetchAPI
import FetchEngine
import FetchJobs
import Glibc
import HTTPTypes

/// Where the keys of the issuer of tokens are read: a file, or a URL, which is loaded as a job would load it.
struct IssuerKeySource: Sendable {
    private enum Place: Sendable {
        case file(String)
        case url(URLRecord, Session)
    }

    /// A reason that the keys could not be read.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let place: Place?

    /// - Parameter makeSession: Makes a session whose guard is that of jobs.
    init(settings: Settings, makeSession: (SessionConfiguration) -> Session) {
        guard let text = settings.tokens.keys else {
            place = nil
            return
        }
        if let url = try? URLRecord(text) {
            place = .url(url, makeSession(.ofIssuers(settings.session)))
        } else {
            place = .file(text)
        }
    }

    /// Refuses a start with a file that holds no usable keys, or a key that is not one: it would be noticed by nobody.
    func checkFile() async throws {
        guard case .file(let path)? = place else { return }
        do {
            let keys = try await IssuerKeys(try await text())
            if let fault = keys.faults.first { throw fault }
        } catch { throw ExitError(.configuration, "JWT_KEYS: \(path): \(error)") }
    }

    /// Reads the text of the set.
    @Sendable func text() async throws -> [UInt8] {
        switch place {
        case nil: return []
        case .file(let path): return try Self.read(path)
        case .url(let url, let session):
            let (bytes, response) = try await session.data(for: Request(url: url))
            guard response.status == .ok else { throw Failure(description: "status \(response.status.code)") }
            return bytes
        }
    }

    /// What the file has, and one byte more than it may have at most.
    private static func read(_ path: String) throws -> [UInt8] {
        // To open a pipe without a writer would block; only regular files are read.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw Failure(description: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        guard FileStatus(descriptor: descriptor)?.isRegular == true else {
            throw Failure(description: "is no file")
        }
        var bytes = [UInt8](repeating: 0, count: IssuerKeys.maximumBytes + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { room in
                let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
                return Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw Failure(description: String(cString: strerror(errno))) }
            if got == 0 { break }
            count += got
        }
        return Array(bytes.prefix(count))
    }
}

extension SessionConfiguration {
    /// How issuers of tokens are asked: with the guard of jobs, and nothing that would outlive the request.
    ///
    /// - Parameter jobs: The configuration of jobs.
    static func ofIssuers(_ jobs: SessionConfiguration) -> SessionConfiguration {
        var configuration = jobs
        configuration.redirects.policy = .fail
        configuration.removeStorages()
        configuration.timeoutIntervalForResource = .seconds(5)
        configuration.maximumResponseBytes = Int64(IssuerKeys.maximumBytes)
        return configuration
    }
}

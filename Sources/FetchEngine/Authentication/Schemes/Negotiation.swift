import CGSSAPI
import Glibc
import Synchronization

/// One SPNEGO conversation with a server (RFC 4559, RFC 4178), with Kerberos.
///
/// Its steps may ask a key distribution centre, and block until that answers. libcurl would make them on the loop, with
/// the tickets of the whole process, and would not check the server's proof.
final class Negotiation: Sendable {
    /// A step that could not be taken; says nothing about names or tickets.
    struct Failure: Error {
        var major: UInt32
        var minor: UInt32

        /// Nobody answered in time, or too many were waiting.
        static let late = Self(major: 0, minor: 0)
    }

    // The pointers are used under the lock alone.
    private struct State {
        var context: gss_ctx_id_t?
        var credential: gss_cred_id_t?
        var target: gss_name_t?
        /// The library may read the keys while it has the credential.
        var keys: FileInMemory?
    }

    /// The libraries wait for key distribution centres on these.
    private static let threads = BlockingThreads()
    /// How long a step may take; the library itself tries a centre that hangs for half a minute.
    private static let patience: Duration = .seconds(10)

    private let credential: Credential
    private let realm: String
    private let target: String
    private let channel: [UInt8]
    private let delegates: Bool
    private let state = Mutex(State())
    private let completed = Atomic(false)

    /// Nil when the credential's user is no plain principal, or one of a realm that is not to be asked.
    ///
    /// - Parameters:
    ///   - service: The name of the service at the host, `HTTP` but for odd servers.
    ///   - realms: The realms that may be asked; nil for all that the library knows of.
    ///   - endPoint: The digest of the server's certificate, to which the proof is bound (RFC 5929 §4); nil without TLS.
    ///   - delegates: Whether the service gets tickets with which it acts for the user.
    init?(
        with credential: Credential, host: String, service: String, among realms: KerberosRealms?,
        endPoint: [UInt8]? = nil, delegatingTickets delegates: Bool = false
    ) {
        let principal = KerberosPrincipal(credential.user)
        guard principal != nil || credential.user.isEmpty && realms == nil else { return nil }
        if let realms {
            guard let realm = principal?.realm, realms.contains(realm) else { return nil }
        }
        self.credential = credential
        realm = principal?.realm ?? ""
        target = service + "@" + host
        channel = endPoint.map { Array("tls-server-end-point:".utf8) + $0 } ?? []
        self.delegates = delegates
    }

    deinit {
        state.withLock { state in
            var minor: OM_uint32 = 0
            if state.context != nil { gss_delete_sec_context(&minor, &state.context, nil) }
            if state.credential != nil { gss_release_cred(&minor, &state.credential) }
            if state.target != nil { gss_release_name(&minor, &state.target) }
        }
    }

    /// Whether both sides have proved who they are.
    ///
    /// Known without the lock, which a step holds while it blocks.
    var isComplete: Bool { completed.load(ordering: .acquiring) }

    /// Takes the token of the server, none at first, and returns the next one of the client, none at the end.
    ///
    /// After a failure there is no further step.
    func step(_ token: [UInt8]?) async throws(Failure) -> [UInt8] {
        let result = await Self.threads.run(in: realm, patience: Self.patience) { [self] in
            Result { () throws(Failure) in try blockingStep(token) }
        }
        guard let result else { throw .late }
        return try result.get()
    }

    private func blockingStep(_ token: [UInt8]?) throws(Failure) -> [UInt8] {
        try state.withLock { state throws(Failure) in
            if state.target == nil {
                state.target = try Self.name(target, cgssapi_service_name())
                state.credential = try acquire(&state.keys)
            }
            var (minor, output) = (OM_uint32(0), gss_buffer_desc())
            let major = Self.withBuffer(token ?? []) { input in
                Self.withBuffer(channel) { channel in
                    cgssapi_step(
                        &minor, state.credential, &state.context, state.target, delegates ? 1 : 0, channel, input,
                        &output)
                }
            }
            defer {
                var ignored: OM_uint32 = 0
                gss_release_buffer(&ignored, &output)
            }
            guard cgssapi_has_failed(major) == 0 else { throw Failure(major: major, minor: minor) }
            completed.store(cgssapi_goes_on(major) == 0, ordering: .releasing)
            return Array(UnsafeRawBufferPointer(start: output.value, count: output.length))
        }
    }

    // MARK: Credentials

    private func acquire(_ keytab: inout FileInMemory?) throws(Failure) -> gss_cred_id_t? {
        var (minor, result) = (OM_uint32(0), gss_cred_id_t?.none)
        var name = try credential.user.isEmpty ? nil : Self.name(credential.user, cgssapi_user_name())
        defer {
            var ignored: OM_uint32 = 0
            if name != nil { gss_release_name(&ignored, &name) }
        }
        let major =
            switch credential.secret {
            case .password(let password):
                Self.withBuffer(Array(password.utf8)) { cgssapi_acquire_with_password(&minor, name, $0, &result) }
            case .tickets(let cache): cgssapi_acquire(&minor, name, cache, nil, &result)
            case .keytab(let path): cgssapi_acquire(&minor, name, "MEMORY:" + Self.uniqueName(), path, &result)
            case .kerberosKeys(let keys):
                Self.open(keys, as: &keytab).map { path in
                    cgssapi_acquire(&minor, name, "MEMORY:" + Self.uniqueName(), path, &result)
                } ?? cgssapi_no_credential()
            case .bearerToken, .identity, .trust, .awsKeys: cgssapi_no_credential()
            }
        guard cgssapi_has_failed(major) == 0 else { throw Failure(major: major, minor: minor) }
        return result
    }

    private static func open(_ keys: [UInt8], as keytab: inout FileInMemory?) -> String? {
        keytab = FileInMemory(keys)
        return keytab.map { "FILE:" + $0.path }
    }

    private static let counter = Atomic<UInt64>(0)

    /// A ticket cache of its own for each, so that two principals never meet.
    private static func uniqueName() -> String {
        "fetch-\(getpid())-\(counter.add(1, ordering: .relaxed).newValue)"
    }

    private static func name(_ text: String, _ kind: gss_OID?) throws(Failure) -> gss_name_t? {
        var (minor, name) = (OM_uint32(0), gss_name_t?.none)
        let major = withBuffer(Array(text.utf8)) { gss_import_name(&minor, $0, kind, &name) }
        guard cgssapi_has_failed(major) == 0 else { throw Failure(major: major, minor: minor) }
        return name
    }

    /// The bytes with a zero after them: gss-ntlmssp reads a password up to a zero, and ignores its length.
    private static func withBuffer<Result>(_ bytes: [UInt8], _ body: (gss_buffer_t) -> Result) -> Result {
        var ended = bytes + [0]
        return ended.withUnsafeMutableBytes { ended in
            var buffer = gss_buffer_desc(length: bytes.count, value: ended.baseAddress)
            return body(&buffer)
        }
    }
}

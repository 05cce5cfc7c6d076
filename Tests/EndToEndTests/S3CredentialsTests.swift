import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Keys of an object store that are found as the SDKs of AWS find them, and what the store encrypts.
@Suite(.timeLimit(.minutes(3))) struct S3CredentialsTests {
    private func store(
        at server: LoopbackServer, _ variables: [String: String], bucket: String = "bodies",
        encryption: S3BlobStore.Encryption? = nil, _ directory: TemporaryDirectory
    ) async throws -> S3BlobStore {
        var configuration = S3BlobStore.Configuration(
            origin: server.url(""), bucket: bucket, keys: .environment(variables), stagingDirectory: directory.path)
        configuration.encryption = encryption
        return try await S3BlobStore(
            configuration, session: Session(configuration: S3BlobStore.sessionConfiguration(.default)))
    }

    /// Writes and reads an object of two parts.
    private func use(_ store: S3BlobStore) async throws -> Blob.ID {
        var draft = try await BlobDraft(in: store)
        try await draft.append(pattern(9 << 20))
        let blob = try await draft.finish()
        #expect(try await store.open(blob.id, range: 5..<8).next() == Array(pattern(8)[5...]))
        return blob.id
    }

    private func json(_ keys: S3Keys, until end: Timestamp) -> String {
        #"{"Code": "Success", "AccessKeyId": "\#(keys.id)", "SecretAccessKey": "\#(keys.secret)", "#
            + #""Token": "\#(keys.token ?? "")", "Expiration": "\#(end)"}"#
    }

    /// An endpoint that answers the requests of a text with that text's answer, and others with 404.
    private func endpoint(
        _ heads: Heads, _ answer: @escaping @Sendable (String) -> String?
    ) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                heads.all.withLock { $0.append(head) }
                let body = answer(head)
                let status = body == nil ? "404 Not Found" : "200 OK"
                try connection.send(
                    "HTTP/1.1 \(status)\r\nContent-Length: \(body?.utf8.count ?? 0)\r\n\r\n\(body ?? "")")
            }
        }
    }

    private final class Heads: Sendable {
        let all = Mutex<[String]>([])
        var count: Int { all.withLock(\.count) }
    }

    @Test func `variables, a file, a container and the instance give keys that the store takes`() async throws {
        let directory = try TemporaryDirectory()
        let (server, keys) = try await LoopbackServer.s3WithSignatures(bucket: "bodies")
        let end = Timestamp.now.advanced(by: .seconds(3600))
        let file = "\(directory.path)/credentials"
        try """
        [default]
        aws_access_key_id = wrong
        # a remark
        [ other ]
        AWS_ACCESS_KEY_ID=\(keys.id)
        aws_secret_access_key = \(keys.secret)
        aws_session_token = \(keys.token ?? "")
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let pass = "\(directory.path)/pass"
        try "proof\n".write(toFile: pass, atomically: true, encoding: .utf8)
        let heads = Heads()
        let container = try endpoint(heads) { head in
            head.lowercased().contains("\r\nauthorization: proof\r\n") ? json(keys, until: end) : nil
        }
        let instance = try endpoint(heads) { head in
            if head.hasPrefix("PUT /latest/api/token ") {
                return head.lowercased().contains("x-aws-ec2-metadata-token-ttl-seconds: 21600") ? "session" : nil
            }
            guard head.lowercased().contains("x-aws-ec2-metadata-token: session\r\n") else { return nil }
            if head.contains("/security-credentials/ ") { return "role of it" }
            return head.contains("/security-credentials/role%20of%20it ") ? json(keys, until: end) : nil
        }
        let environments = [
            [
                "AWS_ACCESS_KEY_ID": keys.id, "AWS_SECRET_ACCESS_KEY": keys.secret,
                "AWS_SESSION_TOKEN": keys.token ?? "", "AWS_PROFILE": "none",
            ],
            ["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "other"],
            [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:\(container.port)/keys",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": pass,
            ],
            ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:\(instance.port)/"],
        ]
        for variables in environments {
            let store = try await store(at: server, variables, directory)
            #expect(await store.health() == .good, "\(variables.keys.sorted())")
            _ = try await use(store)
        }
        // Once each, for all requests.
        #expect(heads.count == 4)
    }

    @Test func `a web identity gets keys of STS`() async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.s3()
        let bucket = UUID().uuidString.lowercased()
        let made = Request(url: try URLRecord(server.url("/\(bucket)")), method: .put)
        #expect(try await Session().data(for: made).1.status == .ok)
        let file = "\(directory.path)/token"
        let variables = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/fetchd",
            "AWS_ENDPOINT_URL_STS": server.url(""),
        ]
        let store = try await store(at: server, variables, bucket: bucket, directory)
        guard case .refused(let reason) = await store.health() else { throw StoreError(.failed, "not refused") }
        #expect(reason.contains("AWS_WEB_IDENTITY_TOKEN_FILE cannot be read"))
        // The kubelet writes it.
        try "e30.e30.x".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(await store.health() == .good)
        _ = try await use(store)
    }

    @Test func `keys that end are renewed, and kept while they are good and no others come`() async throws {
        let directory = try TemporaryDirectory()
        let (server, keys) = try await LoopbackServer.s3WithSignatures(bucket: "bodies")
        let heads = Heads()
        let isAway = Mutex(false)
        // Nearly over, so that each request looks for others.
        let end = Timestamp.now.advanced(by: .seconds(120))
        let container = try endpoint(heads) { _ in isAway.withLock(\.self) ? nil : json(keys, until: end) }
        let url = "http://127.0.0.1:\(container.port)/keys"
        let store = try await store(at: server, ["AWS_CONTAINER_CREDENTIALS_FULL_URI": url], directory)
        for number in 1...2 {
            #expect(await store.health() == .good)
            #expect(heads.count == number)
        }
        isAway.withLock { $0 = true }
        for _ in 0..<3 { #expect(await store.health() == .good) }
        // Not asked for each request while it has none.
        #expect(heads.count == 3)
    }

    @Test func `keys that are refused are read again, without a restart`() async throws {
        let directory = try TemporaryDirectory()
        let (server, keys) = try await LoopbackServer.s3WithSignatures(bucket: "bodies")
        let file = "\(directory.path)/credentials"
        func write(_ keys: S3Keys) throws {
            try """
            [default]
            aws_access_key_id=\(keys.id)
            aws_secret_access_key=\(keys.secret)
            aws_session_token=\(keys.token ?? "")
            """.write(toFile: file, atomically: true, encoding: .utf8)
        }
        try write(S3Keys(id: keys.id, secret: "old", token: keys.token))
        let store = try await store(at: server, ["AWS_SHARED_CREDENTIALS_FILE": file], directory)
        guard case .refused = await store.health() else { throw StoreError(.failed, "not refused") }
        try write(keys)
        _ = try await use(store)
        #expect(await store.health() == .good)
    }

    @Test(arguments: [
        (["AWS_EC2_METADATA_DISABLED": "true"], "AWS_EC2_METADATA_DISABLED is true"),
        (["AWS_WEB_IDENTITY_TOKEN_FILE": "/proc/self/none"], "needs AWS_ROLE_ARN"),
        (["AWS_PROFILE": "p", "HOME": "/proc/self"], "the shared credentials file cannot be read"),
        (["AWS_SHARED_CREDENTIALS_FILE": "/proc/self/status"], "has no keys of the profile default"),
        (["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://keys.example/"], "must be https"),
        (["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9"], "the instance's metadata cannot be reached"),
    ])
    func `why there are no keys is said, by the source that should have some`(
        _ variables: [String: String], _ reason: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let store = try await store(at: try await LoopbackServer.s3(), variables, directory)
        guard case .refused(let words) = await store.health() else { throw StoreError(.failed, "not refused") }
        #expect(words.contains(reason), "\(words)")
    }

    @Test(arguments: [S3BlobStore.Encryption.storeKeys, .managedKey("the-key")])
    func `the store is asked to encrypt what it keeps, whole objects and those of parts`(
        _ encryption: S3BlobStore.Encryption
    ) async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.s3()
        let bucket = UUID().uuidString.lowercased()
        let made = Request(url: try URLRecord(server.url("/\(bucket)")), method: .put)
        #expect(try await Session().data(for: made).1.status == .ok)
        let variables = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"]
        let store = try await store(at: server, variables, bucket: bucket, encryption: encryption, directory)
        var draft = try await BlobDraft(in: store)
        try await draft.append(pattern(100))
        for id in [try await use(store), try await draft.finish().id] {
            var head = Request(url: try URLRecord(server.url("/\(bucket)/\(id)")), method: .head)
            let keys = SignatureV4.Credentials(accessKeyID: "key", secretAccessKey: "secret", sessionToken: nil)
            try SignatureV4(credentials: keys, region: "us-east-1", service: "s3").sign(&head, at: .now)
            let fields = try await Session().data(for: head).1.headerFields
            let form = fields[try #require(HTTPField.Name("x-amz-server-side-encryption"))]
            #expect(form == (encryption == .storeKeys ? "AES256" : "aws:kms"), "\(fields)")
            let key = fields[try #require(HTTPField.Name("x-amz-server-side-encryption-aws-kms-key-id"))]
            #expect(encryption == .storeKeys || key?.contains("the-key") == true, "\(fields)")
        }
    }
}

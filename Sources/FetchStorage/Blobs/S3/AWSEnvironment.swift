import FetchEngine
import FetchJobs
import FoundationEssentials
import HTTPTypes

/// Finds keys where the SDKs of AWS find them, in their order: variables of the environment, the token of a web identity
/// (IAM roles for service accounts), the shared credentials file, a container's endpoint (ECS, EKS Pod Identity), and the
/// metadata of the instance (IMDSv2).
///
/// Of these the first that is there counts: when it gives no keys, no other is asked. Source: AWS SDKs and Tools Reference
/// Guide, "Standardized credential providers".
struct AWSEnvironment: Sendable {
    /// Keys, and until when they are good; nil for those that do not end.
    struct Found: Sendable {
        let credentials: SignatureV4.Credentials
        var expiresAt: Timestamp?
        /// Read again now and then: somebody may have written others.
        var isOfFile = false
    }

    private static let longestAnswer = 64 << 10
    private static let timeout = Duration.seconds(5)

    /// Those of the process.
    let variables: [String: String]
    let region: String
    /// Carries the requests; it follows no redirects and keeps nothing.
    let session: Session

    func find() async throws(StoreError) -> Found {
        if let id = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY") {
            return Found(
                credentials: .init(
                    accessKeyID: id, secretAccessKey: secret, sessionToken: variable("AWS_SESSION_TOKEN")))
        }
        if let path = variable("AWS_WEB_IDENTITY_TOKEN_FILE") { return try await webIdentity(tokenFile: path) }
        if let found = try sharedFile() { return found }
        if let url = try containerURL() { return try await container(url) }
        guard variable("AWS_EC2_METADATA_DISABLED")?.lowercased() != "true" else {
            throw Self.failure("the environment names none, and AWS_EC2_METADATA_DISABLED is true")
        }
        return try await instance()
    }

    private func variable(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

    static func failure(_ reason: String, underlying: (any Error)? = nil) -> StoreError {
        StoreError(.blobAway, "The keys of the object store cannot be found: \(reason).", underlying: underlying)
    }

    // MARK: Web identity

    /// STS, `AssumeRoleWithWebIdentity`: the request is not signed, the token proves who asks.
    private func webIdentity(tokenFile: String) async throws(StoreError) -> Found {
        guard let role = variable("AWS_ROLE_ARN") else {
            throw Self.failure("AWS_WEB_IDENTITY_TOKEN_FILE needs AWS_ROLE_ARN")
        }
        // Each time, for the kubelet writes a new one long before the old one ends.
        let token = try text(ofFile: tokenFile, named: "AWS_WEB_IDENTITY_TOKEN_FILE")
        let suffix = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        let url = variable("AWS_ENDPOINT_URL_STS") ?? "https://sts.\(region).\(suffix)"
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
            ("RoleSessionName", variable("AWS_ROLE_SESSION_NAME") ?? "fetchd"), ("WebIdentityToken", token),
        ]
        let body = form.map { "\($0.0)=\(PercentCodec.component($0.1))" }.joined(separator: "&")
        let answer = XMLText(
            try await ask(
                "STS", .post, url, ["content-type": "application/x-www-form-urlencoded"], body: Array(body.utf8)))
        func value(_ name: String) -> String? { answer.texts(of: name).first }
        return try found(
            "STS", id: value("AccessKeyId"), secret: value("SecretAccessKey"), token: value("SessionToken"),
            end: value("Expiration"))
    }

    // MARK: Files

    /// Nil when there is no file, and nobody says that there has to be one.
    private func sharedFile() throws(StoreError) -> Found? {
        let named = variable("AWS_SHARED_CREDENTIALS_FILE")
        let profile = variable("AWS_PROFILE")
        guard let path = named ?? variable("HOME").map({ "\($0)/.aws/credentials" }) else { return nil }
        guard named != nil || profile != nil || FileManager.default.fileExists(atPath: path) else { return nil }
        let name = profile ?? "default"
        let keys = Self.profile(name, in: try text(ofFile: path, named: "the shared credentials file"))
        guard let id = keys["aws_access_key_id"], let secret = keys["aws_secret_access_key"] else {
            throw Self.failure("the shared credentials file has no keys of the profile \(name)")
        }
        let credentials = SignatureV4.Credentials(
            accessKeyID: id, secretAccessKey: secret, sessionToken: keys["aws_session_token"])
        return Found(credentials: credentials, isOfFile: true)
    }

    /// The members of a profile: `[name]`, and a line `name = value` for each.
    static func profile(_ name: String, in text: String) -> [String: String] {
        var (members, isInside) = ([String: String](), false)
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingWhiteSpace
            if line.hasPrefix("["), line.hasSuffix("]") {
                isInside = line.dropFirst().dropLast().trimmingWhiteSpace == name
            } else if isInside, !line.hasPrefix("#"), !line.hasPrefix(";"), let equals = line.firstIndex(of: "=") {
                let member = line[..<equals].trimmingWhiteSpace.lowercased()
                members[member] = line[line.index(after: equals)...].trimmingWhiteSpace
            }
        }
        return members
    }

    /// The text of a file that is no longer than any of these is.
    private func text(ofFile path: String, named name: String) throws(StoreError) -> String {
        guard let bytes = try? FileContents.bytes(of: path, limit: Self.longestAnswer + 1),
            bytes.count <= Self.longestAnswer
        else { throw Self.failure("\(name) cannot be read") }
        return String(decoding: bytes, as: UTF8.self).trimmingWhiteSpace
    }

    // MARK: Containers and instances

    /// The hosts that give keys over http: those of ECS and EKS, and this machine.
    private static let plainHosts: Set = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "127.0.0.1", "[::1]"]

    private func containerURL() throws(StoreError) -> String? {
        if let path = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") { return "http://169.254.170.2\(path)" }
        guard let url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") else { return nil }
        guard let record = try? URLRecord(url), record.isHTTP,
            record.scheme == "https" || record.host.map({ Self.plainHosts.contains($0) }) == true
        else {
            throw Self.failure(
                "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or of this machine or a container's host")
        }
        return url
    }

    private func container(_ url: String) async throws(StoreError) -> Found {
        var headers: HTTPFields = [:]
        if let path = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
            headers[.authorization] = try text(ofFile: path, named: "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
        } else if let token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN") {
            headers[.authorization] = token
        }
        return try found(
            "the container's endpoint", json: try await ask("the container's endpoint", .get, url, headers))
    }

    private func instance() async throws(StoreError) -> Found {
        let endpoint = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? "http://169.254.169.254"
        let base = (endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint) + "/latest"
        let name = "the instance's metadata"
        let token = try await ask(
            name, .put, "\(base)/api/token", ["x-aws-ec2-metadata-token-ttl-seconds": "21600"])
        let proof: KeyValuePairs = ["x-aws-ec2-metadata-token": token]
        let roles = try await ask(name, .get, "\(base)/meta-data/iam/security-credentials/", HTTPFields(proof))
        guard let role = roles.split(whereSeparator: \.isNewline).first else {
            throw Self.failure("the instance has no role")
        }
        let path = PercentCodec.component(String(role))
        return try found(
            name,
            json: try await ask(name, .get, "\(base)/meta-data/iam/security-credentials/\(path)", HTTPFields(proof)))
    }

    // MARK: Answers

    private func ask(
        _ name: String, _ method: HTTPRequest.Method, _ url: String, _ headers: KeyValuePairs<String, String>,
        body: [UInt8] = []
    ) async throws(StoreError) -> String {
        try await ask(name, method, url, HTTPFields(headers), body: body)
    }

    /// The text of an answer, which is never told: it may be keys.
    private func ask(
        _ name: String, _ method: HTTPRequest.Method, _ url: String, _ headers: HTTPFields = [:], body: [UInt8] = []
    ) async throws(StoreError) -> String {
        do {
            var request = Request(
                url: try URLRecord(url), method: method, headerFields: headers,
                body: method == .get ? nil : .bytes(body))
            request.timeoutInterval = Self.timeout
            let (chunks, response) = try await session.bytes(for: request)
            var bytes: [UInt8] = []
            for try await chunk in chunks {
                bytes += chunk
                guard bytes.count <= Self.longestAnswer else {
                    throw Self.failure("\(name) answers at too great length")
                }
            }
            guard response.status.code == 200 else {
                throw Self.failure("\(name) answers with the status \(response.status.code)")
            }
            return String(decoding: bytes, as: UTF8.self)
        } catch let error as StoreError {
            throw error
        } catch {
            throw Self.failure("\(name) cannot be reached", underlying: error)
        }
    }

    private func found(_ name: String, json text: String) throws(StoreError) -> Found {
        guard let json = try? JSONParser.parse(text.utf8) else { throw Self.failure("\(name) answers with no JSON") }
        func value(_ name: String) -> String? { json.member(name)?.text }
        return try found(
            name, id: value("AccessKeyId"), secret: value("SecretAccessKey"), token: value("Token"),
            end: value("Expiration"))
    }

    private func found(
        _ name: String, id: String?, secret: String?, token: String?, end: String?
    ) throws(StoreError) -> Found {
        guard let id, let secret else { throw Self.failure("\(name) answers without keys") }
        let credentials = SignatureV4.Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: token)
        return Found(credentials: credentials, expiresAt: end.flatMap { Timestamp(rfc3339: $0) })
    }
}

extension HTTPFields {
    /// Fields whose names are good.
    fileprivate init(_ fields: KeyValuePairs<String, String>) {
        self.init()
        for (name, value) in fields { if let name = HTTPField.Name(name) { self[name] = value } }
    }
}

import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// What a service signs its requests to an object store with.
struct S3Keys: Sendable {
    let id: String
    let secret: String
    /// Of keys that last for a while.
    var token: String?
}

extension LoopbackServer {
    /// moto's S3 for one test, at a port that the test has chosen.
    static func s3(port: UInt16, environment: [String: String] = [:]) async throws -> LoopbackServer {
        try await LoopbackServer(
            in: try TemporaryDirectory(), port: port,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, endsWithProcess: true,
            [python("python") ?? "python3", "-m", "moto.server", "-H", "127.0.0.1", "-p", "\(port)"])
    }

    /// The same, which checks signatures, with a bucket and the keys of a role that may do everything there.
    static func s3WithSignatures(bucket: String) async throws -> (LoopbackServer, S3Keys) {
        // The first calls are anybody's: they make the role.
        let server = try await s3(port: try freePort(), environment: ["INITIAL_NO_AUTH_ACTION_COUNT": "3"])
        let everything =
            #"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}"#
        let anybody = S3Keys(id: "anybody", secret: "anybody")
        func call(_ service: String, _ form: KeyValuePairs<String, String>) async throws -> String {
            let body = form.map { "\($0.key)=\(PercentCodec.component($0.value))" }.joined(separator: "&")
            return try await server.call(
                .post, "/", service, anybody, body: body, type: "application/x-www-form-urlencoded")
        }
        _ = try await call(
            "iam",
            [
                "Action": "CreateRole", "Version": "2010-05-08", "RoleName": "fetchd",
                "AssumeRolePolicyDocument":
                    #"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}"#,
            ])
        _ = try await call(
            "iam",
            [
                "Action": "PutRolePolicy", "Version": "2010-05-08", "RoleName": "fetchd", "PolicyName": "all",
                "PolicyDocument": everything,
            ])
        let answer = try await call(
            "sts",
            [
                "Action": "AssumeRole", "Version": "2011-06-15", "RoleSessionName": "test",
                "RoleArn": "arn:aws:iam::123456789012:role/fetchd",
            ])
        func text(_ name: String) throws -> String {
            let match = try #require(try Regex("<\(name)>([^<]*)</\(name)>").firstMatch(in: answer), "\(answer)")
            return String(try #require(match.output[1].substring))
        }
        let keys = S3Keys(
            id: try text("AccessKeyId"), secret: try text("SecretAccessKey"), token: try text("SessionToken"))
        _ = try await server.call(.put, "/\(bucket)", "s3", keys)
        return (server, keys)
    }

    /// The text of a successful answer.
    private func call(
        _ method: HTTPRequest.Method, _ path: String, _ service: String, _ keys: S3Keys, body: String = "",
        type: String? = nil
    ) async throws -> String {
        var request = Request(url: try URLRecord(url(path)), method: method, body: .bytes(Array(body.utf8)))
        request.headerFields[.contentType] = type
        let credentials = SignatureV4.Credentials(
            accessKeyID: keys.id, secretAccessKey: keys.secret, sessionToken: keys.token)
        try SignatureV4(credentials: credentials, region: "us-east-1", service: service).sign(&request, at: .now)
        let (bytes, response) = try await Session().data(for: request)
        let text = String(decoding: bytes, as: UTF8.self)
        try #require(response.status.code == 200, "\(text)")
        return text
    }
}

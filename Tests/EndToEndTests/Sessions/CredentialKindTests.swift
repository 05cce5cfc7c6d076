import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Credentials that are more than a password for Basic or Digest, in jobs against real servers.
@Suite(.timeLimit(.minutes(2))) struct CredentialKindTests {
    private func authentication(_ credential: String, more: String = "") -> String {
        #", "configuration": {"authentication": {"credential": \#(credential)\#(more)}}"#
    }

    // Proves: AUT-25, CRD-1, AUT-1, AUT-8.
    @Test(.enabled(if: KerberosRealm.isInstalled && LoopbackServer.hasApache(modules: "auth_gssapi")))
    func `a password of a Kerberos realm answers Negotiate`() async throws {
        let realm = try await KerberosRealm()
        let server = try await LoopbackServer.apache(realm: realm)
        let rules = ["localhost", "127.0.0.1:\(server.port)", realm.address]
        let settings = ["KERBEROS_REALMS": realm.setting]
        try await ServiceProcess.with(allowing: rules, settings: settings) { service in
            let url = server.url("/kerberos/page", host: "localhost")
            #expect(member(try await service.fetch(url), "response", "status") == 401)
            let credential = #"{"user": "aladdin@CAVE.TEST", "password": "\#(Cave.password)"}"#
            let job = try await service.fetch(url, more: authentication(credential))
            #expect(member(job, "response", "status") == 200, "\(job)")
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == Cave.treasure)
            for (method, code) in [("basic", 401), ("negotiate", 200)] {
                let methods = authentication(credential, more: #", "methods": ["\#(method)"]"#)
                #expect(member(try await service.fetch(url, more: methods), "response", "status") == code)
            }
            #expect(!"\(job)\(service.logged)".contains(Cave.password))
        }
        #expect(try await server.accessLog(3).contains("GET /kerberos/page 200 aladdin@CAVE.TEST"))
    }

    // The centre writes down which tickets it gives, and the server keeps those that it was handed.
    // Proves: AUT-25.
    @Test(.enabled(if: KerberosRealm.isInstalled && LoopbackServer.hasApache(modules: "auth_gssapi")))
    func `the service of the tickets is the job's to choose, and whether the server acts for the user`() async throws {
        let realm = try await KerberosRealm()
        let handed = try TemporaryDirectory()
        let caches = try handed.makeDirectory("caches", mode: 0o777)
        let server = try await LoopbackServer.apache(
            realm: realm, kerberosDirectives: ["GssapiDelegCcacheDir \(caches)"])
        let rules = ["localhost", "127.0.0.1:\(server.port)", realm.address]
        let settings = ["KERBEROS_REALMS": realm.setting]
        let keytab = try Data(contentsOf: URL(filePath: realm.keytabOfJafar)).base64EncodedString()
        let aladdin = #"{"user": "aladdin@CAVE.TEST", "password": "\#(Cave.password)"}"#
        let jafar = #"{"user": "jafar@CAVE.TEST", "keytab": "\#(keytab)"}"#
        func cached() throws -> [String] { try handed.names("caches") }
        try await ServiceProcess.with(allowing: rules, settings: settings) { service in
            func status(_ credential: String, _ more: String) async throws -> Int? {
                let job = try await service.fetch(
                    server.url("/kerberos/page", host: "localhost"), more: authentication(credential, more: more))
                return member(job, "response", "status")
            }
            #expect(try await status(aladdin, "") == 200)
            #expect(realm.tickets(for: "for web/localhost").isEmpty)
            #expect(try await status(aladdin, #", "kerberosService": "web""#) == 200)
            #expect(realm.tickets(for: "aladdin@CAVE.TEST for web/localhost").count == 1)
            #expect(try await status(aladdin, #", "kerberosService": "nfs""#) == 401)
            #expect(try cached().isEmpty)
            for (credential, user) in [(aladdin, "aladdin@CAVE.TEST"), (jafar, "jafar@CAVE.TEST")] {
                #expect(try await status(credential, #", "delegatesKerberosTickets": true"#) == 200)
                #expect(try cached().contains(user))
            }
            for name in ["HTTP/a", "HTTP@b", "", "a b"] {
                let refused = try await service.request(
                    .post, "/v1/jobs",
                    body: #"{"request": {"url": "http://a.example/"}"#
                        + authentication(aladdin, more: #", "kerberosService": "\#(name)""#) + "}")
                #expect(refused.status == 422, "\(name): \(refused.text)")
            }
        }
    }

    // Nobody is asked, each job has tickets of its own, and the keys are neither shown nor on a disk.
    // Proves: AUT-13.
    @Test(.enabled(if: KerberosRealm.isInstalled && LoopbackServer.hasApache(modules: "auth_gssapi")))
    func `jobs of two principals in parallel do not mix`() async throws {
        let realm = try await KerberosRealm()
        let server = try await LoopbackServer.apache(realm: realm)
        for name in ["page", "lamp"] { try server.directory.write(Cave.treasure, to: "www/kerberos/\(name)") }
        let keytab = try Data(contentsOf: URL(filePath: realm.keytabOfJafar)).base64EncodedString()
        let settings = ["KERBEROS_REALMS": realm.setting]
        let rules = ["localhost", "127.0.0.1:\(server.port)", realm.address]
        try await ServiceProcess.with(allowing: rules, settings: settings) { service in
            let put = try await service.request(
                .post, "/v1/credentials",
                body: #"{"protectionSpace": {"host": "localhost", "port": \#(server.port), "protocol": "http", "#
                    + #""authenticationMethod": "negotiate"}, "#
                    + #""user": "jafar@CAVE.TEST", "keytab": "\#(keytab)"}"#)
            #expect(member(put.json, "kind") == "keytab", "\(put.text)")
            let jafar = "\"\(try #require(member(put.json, "id", as: String.self)))\""
            let aladdin = #"{"user": "aladdin@CAVE.TEST", "password": "\#(Cave.password)"}"#
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        let (path, credential) = number.isMultiple(of: 2) ? ("page", aladdin) : ("lamp", jafar)
                        let job = try await service.fetch(
                            server.url("/kerberos/\(path)?\(number)", host: "localhost"),
                            more: authentication(credential))
                        #expect(member(job, "response", "status") == 200, "\(job)")
                        #expect(member(job, "challenges", "0", "answer") == "useCredential")
                    }
                }
                try await group.waitForAll()
            }
            #expect(!"\(put.text)\(service.logged)".contains(keytab.prefix(24)))
        }
        let served = try await server.accessLog(40).filter { $0.contains(" 200 ") }
        #expect(served.count == 20)
        #expect(
            Set(served) == [
                "GET /kerberos/page 200 aladdin@CAVE.TEST", "GET /kerberos/lamp 200 jafar@CAVE.TEST",
            ])
    }

    // Proves: AUT-27, AUT-1.
    @Test(.enabled(if: LoopbackServer.nginx != nil), arguments: ["", "permanent"])
    func `a server that asks for a certificate is shown that of the job, or the one stored`(stored: String) async throws
    {
        let authority = try await TestAuthority()
        let client = try await authority.issue("client")
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: ["ssl_client_certificate \(authority.certificatePath)", "ssl_verify_client optional"])
        func json(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).replacing("\n", with: "\\n") }
        let trust = #""serverTrust": {"policy": "custom", "anchors": "\#(json(authority.certificate))"}"#
        let identity = #""certificateChain": "\#(json(client.certificate))", "privateKey": "\#(json(client.key))""#
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"]) { service in
            func answer(_ authentication: String) async throws -> String {
                let job = try await service.fetch(
                    "https://127.0.0.1:\(server.port)/", more: #", "configuration": {\#(trust)\#(authentication)}"#)
                let href = try #require(member(job, "body", "href", as: String.self), "\(job)")
                #expect(!"\(job)".contains("PRIVATE KEY"))
                return try await service.request(.get, href).text
            }
            #expect(try await answer("").hasPrefix("NONE"))
            if stored.isEmpty {
                let own = #", "authentication": {"credential": {\#(identity)}}"#
                #expect(try await answer(own).hasPrefix("SUCCESS CN=client"))
            } else {
                let space =
                    #""protectionSpace": {"host": "127.0.0.1", "port": \#(server.port), "#
                    + #""authenticationMethod": "clientCertificate"}"#
                let put = try await service.request(.post, "/v1/credentials", body: "{\(space), \(identity)}")
                #expect(put.status == 201, "\(put.text)")
                #expect(try await answer("").hasPrefix("SUCCESS CN=client"))
            }
            #expect(!service.logged.contains("PRIVATE KEY"))
        }
    }

    private static let keys =
        #""accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "kept to itself", "region": "us-east-1""#

    // No server asks for it, so it is sent at once, to the server of the URL alone.
    @Test func `requests are signed with an AWS key that the job brings or names`() async throws {
        let other = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let origin = try WireOrigin(
            playing: "HTTP/1.1 302 F\r\nLocation: \(other.url())\r\nContent-Length: 0\r\n\r\n")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", "127.0.0.1:\(other.port)"]) { service in
            let inline = #"{\#(Self.keys), "service": "execute-api"}"#
            let job = try await service.fetch(origin.url("/a?b=c"), more: authentication(inline))
            #expect(member(job, "response", "status") == 200, "\(job)")
            let put = try await service.request(
                .post, "/v1/credentials",
                body: #"{"protectionSpace": {"host": "127.0.0.1", "port": \#(origin.port), "protocol": "http", "#
                    + #""authenticationMethod": "awsSigV4"}, \#(Self.keys), "service": "s3"}"#)
            #expect(member(put.json, "kind") == "awsKeys", "\(put.text)")
            let id = try #require(member(put.json, "id", as: String.self))
            _ = try await service.fetch(origin.url("/stored"), more: authentication("\"\(id)\""))
            _ = try await service.fetch(
                origin.url("/not"), more: authentication("\"\(id)\"", more: #", "methods": ["basic"]"#))
            #expect(!"\(job)\(put.text)\(service.logged)".contains("kept to itself"))
        }
        let heads = origin.received().components(separatedBy: "GET ").dropFirst()
        let first = try #require(heads.first { $0.hasPrefix("/a?b=c ") })
        #expect(first.contains("uthorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"))
        #expect(first.contains("/us-east-1/execute-api/aws4_request, SignedHeaders=host;x-amz-date, Signature="))
        #expect(try #require(heads.first { $0.hasPrefix("/stored ") }).contains("/us-east-1/s3/aws4_request"))
        #expect(try #require(heads.first { $0.hasPrefix("/not ") }).contains("AWS4") == false)
        #expect(!other.received().contains("AWS4"))
    }

    // A blob is sent to a real server of the protocol.
    @Test func `an object is put and got with signed requests`() async throws {
        let origin = try await LoopbackServer.s3()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let signed = authentication(#"{\#(Self.keys), "service": "s3"}"#)
            let bucket = try await service.fetch(origin.url("/box"), request: #", "method": "PUT""#, more: signed)
            #expect(member(bucket, "response", "status") == 200, "\(bucket)")
            let bytes = pattern(300_000)
            let blob = try await service.send(.post, "/v1/blobs", .bytes(bytes))
            let id = try #require(member(blob.json, "id", as: String.self), "\(blob.text)")
            let put = try await service.fetch(
                origin.url("/box/a%20b"), request: #", "method": "PUT", "body": {"blob": "\#(id)"}"#, more: signed)
            #expect(member(put, "response", "status") == 200, "\(put)")
            let got = try await service.fetch(origin.url("/box/a%20b"), more: signed)
            #expect(member(got, "body", "bytes") == 300_000)
        }
    }
}

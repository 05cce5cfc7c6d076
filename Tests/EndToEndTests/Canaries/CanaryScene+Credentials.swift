import Foundation
import HTTPTypes
import TestSupport
import Testing

extension CanaryScene {
    private func authentication(_ credential: String, _ more: String = "") -> String {
        #""authentication": {"credential": \#(credential)\#(more)}"#
    }

    private func user(_ password: String, _ more: String = "") -> String {
        #"{"user": "u", "password": "\#(password)"\#(more)}"#
    }

    /// Jobs that bring credentials of every kind, to servers that take and that refuse them.
    func plantCredentials(_ session: String) async throws -> [String] {
        func job(_ path: String, _ configuration: String, more: String = "") async throws -> String {
            try await submit(#""\#(origin.url(path))""#, configuration, more: more)
        }
        let ofURL = origin.url("/basic").replacing("//", with: "//u:\(canaries("user information of a URL"))@")
        var jobs = [try await submit("\"\(ofURL)\"")]
        for scheme in ["basic", "digest", "ntlm"] {
            let password = canaries("password for \(scheme)", isSent: scheme == "basic")
            jobs.append(try await job("/\(scheme)", authentication(user(password))))
        }
        let kept = #", "persistence": "forSession""#
        jobs.append(
            try await job(
                "/basic", authentication(user(canaries("password for a session"), kept)),
                more: #", "session": "\#(session)""#))
        let token = canaries("bearer token")
        jobs.append(try await job("/bearer", authentication(#"{"bearerToken": "\#(token)"}"#)))
        let keys = #""secretAccessKey": "\#(canaries("AWS key", isSent: false))", "accessKeyID": "AKID""#
        let temporary = #""sessionToken": "\#(canaries("AWS session token"))", "region": "r", "service": "s""#
        jobs.append(try await job("/ok", authentication("{\(keys), \(temporary)}")))
        return jobs + (try await plantStoredCredentials())
    }

    /// Stored credentials, which jobs name or meet.
    private func plantStoredCredentials() async throws -> [String] {
        func space(_ method: String, _ more: String = #", "realm": "cave""#) -> String {
            #""protectionSpace": {"host": "127.0.0.1", "port": \#(origin.port), "protocol": "http", "#
                + #""authenticationMethod": "\#(method)"\#(more)}"#
        }
        let bearer = try await make(
            "/v1/credentials", #"{\#(space("httpBearer")), "bearerToken": "\#(canaries("stored bearer token"))"}"#)
        _ = try await make(
            "/v1/credentials",
            #"{\#(space("httpBasic")), "user": "s", "password": "\#(canaries("stored password"))"}"#)
        let secret = #""secretAccessKey": "\#(canaries("stored AWS key", isSent: false))""#
        let aws = try await make(
            "/v1/credentials",
            #"{\#(space("awsSigV4", "")), "accessKeyID": "AKID", "region": "r", "service": "s", \#(secret)}"#)
        return [
            try await submit(#""\#(origin.url("/basic"))""#),
            try await submit(#""\#(origin.url("/bearer"))""#, authentication("\"\(bearer)\"")),
            try await submit(#""\#(origin.url("/ok"))""#, authentication("\"\(aws)\"")),
        ]
    }

    /// Client certificates with their keys and passphrases, of jobs and of a webhook endpoint, shown to real servers.
    func plantCertificates(_ authority: TestAuthority, _ server: LoopbackServer) async throws -> [String] {
        let leaf = try await authority.issue("client")
        let trust = #""serverTrust": {"policy": "custom", "anchors": "\#(Self.json(authority.certificate))"}"#
        let key = String(decoding: leaf.key, as: UTF8.self)
        let line = try #require(key.split(separator: "\n").dropFirst().first)
        canaries.add("private key", base64: line)
        let passphrase = canaries("passphrase of a key", isSent: false)
        let encrypted = try await authority.encryptedKey(leaf, passphrase: passphrase)
        let ofFile = canaries("passphrase of a PKCS #12 file", isSent: false)
        let file = Data(try await authority.pkcs12(leaf, passphrase: ofFile)).base64EncodedString()
        let chain = #""certificateChain": "\#(Self.json(leaf.certificate))""#
        let identities = [
            #"{\#(chain), "privateKey": "\#(Self.json(leaf.key))"}"#,
            #"{\#(chain), "privateKey": "\#(Self.json(encrypted))", "passphrase": "\#(passphrase)"}"#,
            #"{"pkcs12": "\#(file)", "passphrase": "\#(ofFile)"}"#,
        ]
        let url = "https://127.0.0.1:\(server.port)/"
        var jobs: [String] = []
        for identity in identities {
            jobs.append(try await succeeding(try await submit("\"\(url)\"", "\(trust), \(authentication(identity))")))
        }
        let endpoint = try await make(
            "/v1/webhooks/endpoints", #"{"url": "\#(url)", \#(trust), "clientCertificate": \#(identities[1])}"#)
        jobs.append(
            try await submit(#""\#(origin.url("/ok"))""#, more: #", "webhook": {"endpoint": "\#(endpoint)"}"#))
        let space =
            #""protectionSpace": {"host": "127.0.0.1", "port": \#(server.port), "#
            + #""authenticationMethod": "clientCertificate"}"#
        _ = try await make("/v1/credentials", "{\(space), \(identities[0].dropFirst())")
        jobs.append(try await submit("\"\(url)\"", trust))
        return jobs
    }

    /// Jobs through proxies that take a password, and that refuse one.
    func plantProxies(
        _ http: (server: LoopbackServer, password: String), _ socks: (server: LoopbackServer, password: String)
    ) async throws
        -> [String]
    {
        func proxy(_ url: String, _ credential: String) -> String {
            #""proxy": {"url": "\#(url)", "credential": \#(credential)}"#
        }
        let url = #""\#(origin.url("/ok"))""#
        let (httpURL, socksURL) = ("http://127.0.0.1:\(http.server.port)", "socks5://127.0.0.1:\(socks.server.port)")
        let wrong = (
            canaries("wrong password of a proxy", isSent: false),
            canaries("wrong password of a SOCKS proxy", isSent: false)
        )
        let stored = try await make(
            "/v1/credentials",
            #"{"protectionSpace": {"host": "127.0.0.1", "port": \#(http.server.port), "protocol": "http", "#
                + #""isProxy": true, "authenticationMethod": "httpBasic"}, "user": "u", "#
                + #""password": "\#(http.password)"}"#
        )
        return [
            try await succeeding(try await submit(url, proxy(httpURL, user(http.password)))),
            try await submit(url, proxy(httpURL, user(wrong.0))),
            try await succeeding(try await submit(url, proxy(httpURL, "\"\(stored)\""))),
            try await succeeding(try await submit(url, proxy(socksURL, user(socks.password)))),
            try await submit(url, proxy(socksURL, user(wrong.1))),
        ]
    }

    /// Jobs with a password and with keys of a Kerberos realm, of which its server takes the latter.
    func plantKerberos(_ realm: KerberosRealm, _ server: LoopbackServer) async throws -> [String] {
        let keytab = try Data(contentsOf: URL(filePath: realm.keytabOfJafar))
        // The last key, which the number of its version follows.
        canaries.add("key of a keytab", Array(keytab.suffix(36).prefix(32)))
        let credentials = [
            #"{"user": "aladdin@CAVE.TEST", "password": "\#(canaries("password for Kerberos", isSent: false))"}"#,
            #"{"user": "jafar@CAVE.TEST", "keytab": "\#(keytab.base64EncodedString())"}"#,
        ]
        let url = server.url("/kerberos/page", host: "localhost")
        return [
            try await submit("\"\(url)\"", authentication(credentials[0])),
            try await succeeding(try await submit("\"\(url)\"", authentication(credentials[1]))),
        ]
    }

    /// Jobs of FTP, whose server refuses the passwords.
    func plantFTP(_ server: LoopbackServer) async throws -> [String] {
        let address = "127.0.0.1:\(server.port)/file"
        let (ofURL, own) = (canaries("FTP password of a URL", isSent: false), canaries("FTP password", isSent: false))
        return [
            try await submit("\"ftp://user:\(ofURL)@\(address)\""),
            try await submit("\"ftp://\(address)\"", authentication(user(own))),
        ]
    }

    /// Cookies that clients set, import and let the service read, and one of an origin, with a snapshot of them all.
    func plantCookies(_ session: String) async throws -> [String] {
        let set = #"{"name": "set", "value": "\#(canaries("cookie that is set"))", "domain": "127.0.0.1"}"#
        try await ask(.post, "/v1/cookies", #"{"session": "\#(session)", "cookies": [\#(set)]}"#)
        let line = "127.0.0.1\tFALSE\t/\tFALSE\t0\timported\t\(canaries("cookie that is imported"))\n"
        try await ask(
            .post, "/v1/cookies/import?session=\(session)", line, headers: [.contentType: "text/plain"])
        let read = canaries("cookie that is read", isSent: false)
        try await ask(
            .post, "/v1/cookies/parse", #"{"url": "\#(origin.url())", "setCookie": ["read=\#(read)"]}"#)
        let more = #", "session": "\#(session)""#
        let jobs = [
            try await submit(#""\#(origin.url("/cookie"))""#, more: more),
            try await submit(#""\#(origin.url("/cookie"))""#),
        ]
        _ = try await service.end(of: jobs[0])
        let snapshot = try await make("/v1/sessions/\(session)/snapshots", "{}")
        try await ask(.get, "/v1/snapshots/\(snapshot)")
        return jobs + [try await submit(#""\#(origin.url("/ok"))""#, more: more)]
    }
}

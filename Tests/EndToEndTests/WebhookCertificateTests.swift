import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Receivers that let nobody in without a certificate.
@Suite(.enabled(if: LoopbackServer.nginx != nil)) struct WebhookCertificateTests {
    private static func json(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).replacing("\n", with: "\\n")
    }

    private func post(_ endpoint: String, to service: ServiceProcess) async throws -> ServiceProcess.Answer {
        try await service.request(.post, "/v1/webhooks/endpoints", body: endpoint)
    }

    /// The attempt at the message about a new job.
    private func attempt(_ endpoint: String, _ service: ServiceProcess) async throws -> [String: Any] {
        _ = try await service.fetch("data:,x", more: #", "webhook": {"endpoint": "\#(endpoint)"}"#)
        var delivery: [String: Any] = [:]
        try await until {
            let list = try await service.request(.get, "/v1/webhooks/deliveries?endpoint=\(endpoint)").json
            guard let id = member(list, "data", "0", "id", as: String.self) else { return false }
            delivery = try await service.request(.get, "/v1/webhooks/deliveries/\(id)").json
            return member(delivery, "attempts", "0", as: [String: Any].self) != nil
        }
        return delivery
    }

    // R25
    @Test(arguments: ["PEM", "PKCS #12"])
    func `a receiver is shown the certificate of its endpoint`(form: String) async throws {
        let authority = try await TestAuthority()
        let client = try await authority.issue("client")
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: ["ssl_client_certificate \(authority.certificatePath)", "ssl_verify_client on"])
        let file = Data(try await authority.pkcs12(client, passphrase: "open it")).base64EncodedString()
        let certificate =
            form == "PEM"
            ? #"{"certificateChain": "\#(Self.json(client.certificate))", "privateKey": "\#(Self.json(client.key))"}"#
            : #"{"pkcs12": "\#(file)", "passphrase": "open it"}"#
        let target =
            #""url": "https://127.0.0.1:\#(server.port)/hook", "serverTrust": {"policy": "custom", "#
            + #""anchors": "\#(Self.json(authority.certificate))"}"#
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"]) { service in
            let bare = try await post("{\(target)}", to: service)
            let id = try #require(member(bare.json, "id", as: String.self), "\(bare.text)")
            let refused = try await attempt(id, service)
            #expect(member(refused, "attempts", "0", "response", "status") == 400)

            let place = "/v1/webhooks/endpoints/\(id)"
            let changed = try await service.request(.patch, place, body: #"{"clientCertificate": \#(certificate)}"#)
            #expect(member(changed.json, "clientCertificate", "sha256", as: String.self)?.utf8.count == 64)
            #expect(!changed.text.contains("PRIVATE") && !changed.text.contains("pkcs12"))
            let taken = try await attempt(id, service)
            #expect(member(taken, "attempts", "0", "response", "status") == 200, "\(taken)")
            #expect(try await server.accessLog(2).contains { $0.contains("SUCCESS POST /hook") })

            let removed = try await service.request(.patch, place, body: #"{"clientCertificate": null}"#)
            #expect(removed.status == 200 && removed.json["clientCertificate"] == nil)
            #expect(member(removed.json, "serverTrust", "policy") == "custom")
            #expect(!service.logged.contains("PRIVATE"))
        }
    }

    // R25: one that cannot be used is refused at once, not after attempts.
    @Test func `a certificate that cannot be used is refused when the endpoint is made`() async throws {
        let authority = try await TestAuthority()
        let (client, other) = (try await authority.issue("client"), try await authority.issue("other"))
        let chain = Self.json(client.certificate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:80"]) { service in
            for (certificate, pointer) in [
                (#"{"certificateChain": "\#(chain)", "privateKey": "\#(Self.json(other.key))"}"#, "/clientCertificate"),
                (#"{"certificateChain": "\#(chain)"}"#, "/clientCertificate/privateKey"),
                (#"{"pkcs12": "AAAA", "passphrase": ""}"#, "/clientCertificate"), ("{}", "/clientCertificate"),
            ] {
                let answer = try await post(
                    #"{"url": "https://127.0.0.1/", "clientCertificate": \#(certificate)}"#, to: service)
                #expect(answer.status == 422)
                #expect(member(answer.json, "errors", "0", "pointer") == pointer, "\(answer.text)")
            }
            let whole = #"{"certificateChain": "\#(chain)", "privateKey": "\#(Self.json(client.key))"}"#
            let plain = try await post(#"{"url": "http://127.0.0.1/", "clientCertificate": \#(whole)}"#, to: service)
            #expect(member(plain.json, "errors", "0", "pointer") == "/clientCertificate", "\(plain.text)")
            let list = try await service.request(.get, "/v1/webhooks/endpoints")
            #expect(list.json["data"].count == 0)
        }
    }
}

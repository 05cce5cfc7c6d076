import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

@Suite struct ConfigurationTests {
    private static let everything = #"""
        {
          "redirects": {
            "policy": "return", "maximum": 3, "allowHTTPSToHTTP": true, "preserveMethod": true,
            "allowedHosts": ["a.example", "[::1]"], "forwardCredentialsToHosts": ["b.example"]
          },
          "authentication": {"kerberosService": "web", "delegatesKerberosTickets": true},
          "serverTrust": {
            "policy": "pinned",
            "pins": [{"host": "*.a.example", "sha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}]
          },
          "cookies": {"acceptPolicy": "never", "send": false, "jar": "none"},
          "cache": {"requestCachePolicy": "returnCacheDataElseLoad", "storagePolicy": "allowedInMemoryOnly",
            "audience": "shared", "cacheableStatuses": "success",
            "maximumEntryBytes": 5, "userInfo": {"a": "b"}},
          "proxy": {"url": "socks5h://proxy.example:1080", "noProxy": ["b.example", "10.0.0.0/8"]},
          "tls": {"minimumVersion": "1.2", "maximumVersion": "1.3", "alpn": ["http/1.1"],
            "strictTransport": ["a.example", "*.b.example"]},
          "timeouts": {"timeoutIntervalForRequest": 1.5, "timeoutIntervalForResource": 60, "connect": 0.25},
          "connections": {
            "maximumPerHost": 2, "httpVersion": "1.1", "waitsForConnectivity": true, "addressFamily": "ipv4",
            "maximumBytesPerSecond": 5000,
            "allowsCellularAccess": false, "allowsExpensiveNetworkAccess": false,
            "allowsConstrainedNetworkAccess": false, "allowsUltraConstrainedNetworkAccess": false,
            "networkServiceType": "voice", "multipathServiceType": "handover"
          },
          "background": {
            "sessionSendsLaunchEvents": true, "sharedContainerIdentifier": "group.a",
            "shouldUseExtendedBackgroundIdleMode": true
          },
          "response": {"maximumBytes": 10, "verifyDigests": false},
          "upload": {"expectContinue": "never"},
          "request": {
            "headers": [{"name": "Accept-Language", "value": "de"}], "attribution": "developer",
            "allowsPersistentDNS": false, "sendsTraceContext": false,
            "recordsHeaders": true
          }
        }
        """#

    private func configuration(_ text: String) throws -> Configuration {
        let check = InputCheck()
        let configuration = Configuration(reader: JSONReader(try JSONParser.parse(text.utf8), check: check))
        try check.finish()
        return configuration
    }

    private func text(_ configuration: Configuration) -> String {
        String(decoding: JSONWriter.object(configuration.write), as: UTF8.self)
    }

    private func explain(_ effective: EffectiveConfiguration) -> String {
        String(decoding: JSONWriter.object(effective.write), as: UTF8.self)
    }

    @Test func `every member reads back from what is written`() throws {
        let read = try configuration(Self.everything)
        #expect(try configuration(text(read)) == read)
        #expect(try configuration("{}").isEmpty)
        #expect(text(Configuration()) == "{}")
    }

    // The service has the engine's names.
    @Test func `every member reaches the engine, and is what the engine is then said to go by`() throws {
        let read = try configuration(Self.everything)
        let engine = SessionConfiguration.default.overridden(by: read)
        #expect(engine.redirects.policy == .return)
        #expect(engine.redirects.maximum == 3)
        #expect(engine.recordsHeaderFields)
        #expect(engine.redirects.allowedHosts == ["a.example", "[::1]"])
        #expect(engine.redirects.forwardCredentialsToHosts == ["b.example"])
        #expect(engine.authentication.kerberosService == "web" && engine.authentication.delegatesKerberosTickets)
        #expect(engine.tls.pins.count == 1)
        #expect(engine.httpCookieAcceptPolicy == .never)
        #expect(engine.httpShouldSetCookies == false)
        #expect(engine.httpCookieStorage == nil)
        #expect(engine.requestCachePolicy == .returnCacheDataElseLoad)
        #expect(engine.caching.storagePolicy == .allowedInMemoryOnly && engine.caching.maximumEntryBytes == 5)
        #expect(engine.caching.userInfo == ["a": "b"])
        #expect(engine.proxies.rules.count == 1)
        #expect(engine.proxies.exclusions.count == 2)
        #expect(engine.tls.maximumVersion == .tls13 && engine.tls.applicationProtocols == [.http1])
        #expect(engine.caching.cacheableStatuses == .success && engine.caching.audience == .shared)
        #expect(engine.timeoutIntervalForRequest == .milliseconds(1500))
        #expect(engine.connectTimeout == .milliseconds(250))
        #expect(engine.httpMaximumConnectionsPerHost == 2)
        #expect(engine.httpVersion == .http1)
        #expect(engine.waitsForConnectivity)
        #expect(engine.network.addressFamily == .ipv4)
        #expect(!engine.allowsCellularAccess && engine.sharedContainerIdentifier == "group.a")
        #expect(engine.maximumResponseBytes == 10 && !engine.verifiesContentDigests)
        #expect(engine.maximumBytesPerSecond == 5000)
        #expect(engine.expectContinue == .never)
        #expect(engine.httpAdditionalHeaders == [.acceptLanguage: "de"])
        var again = Configuration(of: engine)
        again.serverTrust = read.serverTrust
        #expect(again == read)
    }

    // R34
    @Test func `an answer may take a year`() throws {
        let limits = #"{"timeoutIntervalForRequest": 31536000, "timeoutIntervalForResource": 31536000}"#
        let engine = SessionConfiguration.default.overridden(by: try configuration(#"{"timeouts": \#(limits)}"#))
        #expect(engine.timeoutIntervalForRequest == .seconds(365 * 86_400))
        #expect(engine.timeoutIntervalForResource == .seconds(365 * 86_400))
    }

    @Test func `nothing set changes nothing`() {
        let engine = SessionConfiguration.default
        #expect(engine.overridden(by: Configuration()) == engine)
    }

    @Test func `a job overrides its session member by member, and whole groups where only the whole means something`()
        throws
    {
        var effective = try configuration(Self.everything)
        effective.override(
            by: try configuration(
                #"{"redirects": {"maximum": 9}, "serverTrust": {"policy": "system"}, "proxy": {"noProxy": ["*"]}}"#))
        #expect(effective.redirects.maximum == 9)
        #expect(effective.redirects.policy == .return)
        let engine = SessionConfiguration.default.overridden(by: effective)
        #expect(engine.tls.pins.isEmpty)
        #expect(engine.proxies.rules.isEmpty)
    }

    @Test func `every value in effect says who set it`() throws {
        let text = explain(
            EffectiveConfiguration(
                job: try configuration(#"{"redirects": {"maximum": 1}}"#),
                session: try configuration(
                    #"{"redirects": {"maximum": 2, "policy": "fail"}, "proxy": {"url": "http://p.example:1"}}"#),
                standard: Configuration(of: .default)
            )
        )
        #expect(text.contains(#""maximum":{"value":1,"from":"job"}"#))
        #expect(text.contains(#""policy":{"value":"fail","from":"session"}"#))
        #expect(text.contains(#""preserveMethod":{"value":false,"from":"default"}"#))
        #expect(text.contains(#""maximumBytes":{"value":null,"from":"default"}"#))
        #expect(text.contains(#""noProxy":{"value":null,"from":"session"}"#))
    }

    @Test(arguments: [
        (#"{"redirect": {}}"#, "/redirect", "not a member"),
        (#"{"redirects": {"policy": "delegate"}}"#, "/redirects/policy", "must be one of"),
        (#"{"redirects": {"allowedHosts": ["a.example/b"]}}"#, "/redirects/allowedHosts/0", "hostInvalid"),
        (#"{"serverTrust": {"pins": []}}"#, "/serverTrust", "which policy"),
        (#"{"serverTrust": {"policy": "pinned"}}"#, "/serverTrust", "must have pins"),
        (#"{"serverTrust": {"policy": "custom"}}"#, "/serverTrust", "anchors"),
        (#"{"serverTrust": {"policy": "custom", "anchors": "x"}}"#, "/serverTrust/anchors", "PEM"),
        (
            #"{"serverTrust": {"policy": "system", "revocationLists": "x"}}"#, "/serverTrust/revocationLists",
            "revocation lists in PEM"
        ),
        (
            #"{"serverTrust": {"policy": "pinned", "pins": [{"sha256": "x"}]}}"#,
            "/serverTrust/pins/0/sha256", "SHA-256"
        ),
        (#"{"proxy": {"url": "http://user:secret@proxy.example:1"}}"#, "/proxy/url", "proxyInvalid"),
        (#"{"proxy": {"url": "proxy.example"}}"#, "/proxy/url", "proxyInvalid"),
        (#"{"tls": {"minimumVersion": "1.3", "maximumVersion": "1.2"}}"#, "/tls", "below its minimumVersion"),
        (#"{"connections": {"multipathServiceType": "both"}}"#, "/connections/multipathServiceType", "must be one of"),
        (#"{"upload": {"contentType": "text"}}"#, "/upload/contentType", "media type"),
        (#"{"upload": {"contentType": "text/plain\r\nX: y"}}"#, "/upload/contentType", "media type"),
        (#"{"authentication": {"persistence": "forever"}}"#, "/authentication/persistence", "must be one of"),
        (#"{"proxy": {"credential": {"user": "u", "password": "secret"}}}"#, "/proxy", "must have a url"),
        (#"{"tls": {"alpn": ["h2"]}}"#, "/tls", "http/1.1"),
        (#"{"tls": {"alpn": ["h3"]}}"#, "/tls/alpn/0", "must be one of"),
        (#"{"response": {"becomeDownload": {"mimeTypes": ["*"]}}}"#, "/response/becomeDownload/mimeTypes/0", "MIME"),
        (#"{"response": {"multipartReplace": "first"}}"#, "/response/multipartReplace", "must be one of"),
        (#"{"timeouts": {"connect": 0}}"#, "/timeouts/connect", "must be from"),
        (#"{"cookies": {"jar": "other"}}"#, "/cookies/jar", "must be one of"),
    ])
    func `bad input is named by its pointer and the rule`(input: String, pointer: String, rule: String) throws {
        let failure = #expect(throws: InvalidInput.self) { try configuration(input) }
        let violations = failure?.violations ?? []
        #expect(violations.contains { $0.pointer == pointer && $0.message.contains(rule) }, "\(violations)")
        #expect(!"\(violations)".contains("secret"))
    }
}

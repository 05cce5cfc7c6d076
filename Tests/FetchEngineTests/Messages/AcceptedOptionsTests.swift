import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Options that are accepted for programs that come from Apple's systems.
@Suite struct AcceptedOptionsTests {
    // Proves: BEY-16, BEY-27, SES-15.
    @Test func `a configuration keeps the options of networks and background sessions, with the platform's defaults`() {
        var configuration = SessionConfiguration()
        #expect(configuration.allowsCellularAccess && configuration.allowsExpensiveNetworkAccess)
        #expect(configuration.allowsConstrainedNetworkAccess && configuration.allowsUltraConstrainedNetworkAccess)
        #expect(configuration.networkServiceType == .default && configuration.multipathServiceType == .none)
        #expect(!configuration.isDiscretionary && !configuration.sessionSendsLaunchEvents)
        #expect(configuration.sharedContainerIdentifier == nil && !configuration.shouldUseExtendedBackgroundIdleMode)
        let before = configuration
        configuration.allowsExpensiveNetworkAccess = false
        configuration.networkServiceType = .responsiveData
        configuration.multipathServiceType = .handover
        configuration.isDiscretionary = true
        configuration.sessionSendsLaunchEvents = true
        configuration.sharedContainerIdentifier = "group.example"
        let kept = Session(configuration: configuration).configuration
        #expect(kept == configuration && kept != before)
        #expect(!kept.allowsExpensiveNetworkAccess && kept.networkServiceType == .responsiveData)
        #expect(kept.multipathServiceType == .handover && kept.isDiscretionary && kept.sessionSendsLaunchEvents)
        #expect(kept.sharedContainerIdentifier == "group.example")
    }

    // Proves: BEY-16, BEY-23.
    @Test func `a request keeps who caused it, and is loaded all the same`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        var request = Request(url: try URLRecord(origin.url()))
        #expect(request.attribution == .developer && !request.allowsPersistentDNS)
        request.attribution = .user
        request.allowsPersistentDNS = true
        request.allowsExpensiveNetworkAccess = false
        request.networkServiceType = .voice
        let task = Session().dataTask(with: request)
        #expect(try await task.response().status.code == 200)
        #expect(task.originalRequest.attribution == .user && task.originalRequest.allowsPersistentDNS)
        #expect(!task.originalRequest.allowsExpensiveNetworkAccess)
        #expect(task.originalRequest.networkServiceType == .voice)
        #expect(!origin.received().lowercased().contains("attribution"))
    }

    // Proves: BEY-15.
    @Test func `HTTP/3 is refused before a byte is sent`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        var request = Request(url: try URLRecord(origin.url()))
        request.assumesHTTP3Capable = true
        await expect(.unsupportedURL) { try await Session().data(for: request) }
        #expect(origin.connections.isEmpty)
    }

    // Proves: BEY-22.
    @Test func `a synchronizable credential is kept as a permanent one is`() throws {
        let space = ProtectionSpace(host: "h.example", port: 80, scheme: "http", realm: "r", method: .httpBasic)
        let storage = MemoryCredentialStorage()
        let credential = Credential(user: "u", password: "p", persistence: .synchronizable)
        storage.set(credential, for: space)
        #expect(storage.defaultCredential(for: space)?.persistence == .synchronizable)
    }
}

import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct ProtocolRegistryTests {
    private struct Named: ProtocolHandler {
        let name: String
        let scheme: String

        func canHandle(_ request: Request) -> Bool { request.url.scheme == scheme }
        func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {}
    }

    private struct Other: ProtocolHandler {
        func canHandle(_ request: Request) -> Bool { true }
        func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {}
    }

    // Proves: PRT-2, FN-56.
    @Test func `handlers are asked in reverse order of registration`() throws {
        let registry = ProtocolRegistry()
        registry.register(Named(name: "first", scheme: "x"))
        registry.register(Named(name: "second", scheme: "x"))
        registry.register(Named(name: "third", scheme: "y"))
        let handler = registry.handler(for: Request(url: try URLRecord("x:a")))
        #expect((handler as? Named)?.name == "second")
        #expect(registry.handlers.compactMap { ($0 as? Named)?.name } == ["third", "second", "first"])
        #expect(registry.handler(for: Request(url: try URLRecord("z:a"))) == nil)
    }

    // Proves: PRT-1.
    @Test func `handlers are removed by their type`() throws {
        let registry = ProtocolRegistry()
        registry.register(Named(name: "first", scheme: "x"))
        registry.register(Other())
        registry.unregister(Other.self)
        #expect(registry.handlers.count == 1)
        registry.unregister(Named.self)
        #expect(registry.handlers.isEmpty)
    }

    // Proves: PRT-5.
    @Test func `by default a request is its own standard form, and equal URLs are equivalent`() throws {
        let handler = Other()
        let request = Request(url: try URLRecord("http://h/a#x"))
        #expect(handler.canonicalRequest(for: request).url == request.url)
        #expect(handler.isEquivalent(request, Request(url: try URLRecord("http://h/a#y"))))
        #expect(!handler.isEquivalent(request, Request(url: try URLRecord("http://h/a?b"))))
        #expect(!handler.isEquivalent(request, Request(url: request.url, method: .head)))
    }

    // Proves: PRT-6, URL-2.
    @Test func `properties are typed, named, and gone when set to nil`() throws {
        var request = Request(url: try URLRecord("x:a"))
        #expect(request[.depth] == nil)
        request[.depth] = 3
        request[.label] = "a"
        #expect(request[.depth] == 3)
        #expect(request.properties.names == ["depth", "label"])
        #expect(request[PropertyKey<String>("depth")] == nil)
        request[.depth] = nil
        #expect(request.properties.names == ["label"])
        var properties = Properties()
        properties[.label] = "b"
        #expect(Response(url: request.url, status: .ok, properties: properties)[.label] == "b")
    }
}

extension PropertyKey<Int> {
    fileprivate static let depth = Self("depth")
}

extension PropertyKey<String> {
    fileprivate static let label = Self("label")
}

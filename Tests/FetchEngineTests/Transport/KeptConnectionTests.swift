import FetchEngine
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Bytes on a kept connection that nobody has asked for are nobody's response (RFC 9112 §6.3, §9.2).
@Suite(.timeLimit(.minutes(1))) struct KeptConnectionTests {
    private static let unasked = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nCache-Control: max-age=60\r\n\r\nunasked"
    private static let timeout = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    private static let cases = TalkativeOrigin.Way.allCases.flatMap { way in
        [(HTTPRequest.Method.get, unasked), (.post, unasked), (.get, timeout), (.get, "x")].map { (way, $0.0, $0.1) }
    }

    private static func body(_ session: Session, _ url: String, _ method: HTTPRequest.Method = .get) async throws
        -> String
    {
        var request = Request(url: try URLRecord(url), method: method)
        if method == .post { request.body = .bytes(Array("content".utf8)) }
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    @Test(arguments: cases)
    func `bytes that come between two requests are not the second one's answer`(
        _ way: TalkativeOrigin.Way, _ method: HTTPRequest.Method, _ bytes: String
    ) async throws {
        let origin = try await TalkativeOrigin(way, then: .send(bytes))
        let session = origin.session()
        #expect(try await Self.body(session, origin.url("/first")) == "/first")
        try await origin.speak()
        #expect(try await Self.body(session, origin.url("/second"), method) == "/second")
        #expect(try await Self.body(session, origin.url("/third"), method) == "/third")
        #expect(origin.requests == ["/first", "/second", "/third"] && origin.connections == 2)
    }

    @Test(arguments: TalkativeOrigin.Way.allCases)
    func `a connection on which nothing comes is used again`(_ way: TalkativeOrigin.Way) async throws {
        let origin = try await TalkativeOrigin(way, then: .nothing)
        let session = origin.session()
        for path in ["/first", "/second", "/third"] {
            #expect(try await Self.body(session, origin.url(path), path == "/second" ? .post : .get) == path)
        }
        #expect(origin.connections == 1)
    }

    @Test func `a ticket that comes late does not cost the connection`() async throws {
        let origin = try await TalkativeOrigin(.tls13, then: .ticket)
        let session = origin.session()
        #expect(try await Self.body(session, origin.url("/first")) == "/first")
        try await origin.speak()
        #expect(try await Self.body(session, origin.url("/second"), .post) == "/second")
        #expect(origin.connections == 1)
    }

    @Test(arguments: [TalkativeOrigin.Way.tls12, .tls13, .tunnel])
    func `what comes in the last record of an answer is not the next one's`(_ way: TalkativeOrigin.Way) async throws {
        let origin = try await TalkativeOrigin(way, then: .sendAtOnce(Self.unasked))
        let session = origin.session()
        #expect(try await Self.body(session, origin.url("/first")) == "/first")
        #expect(try await Self.body(session, origin.url("/second")) == "/second")
        #expect(origin.requests == ["/first", "/second"])
    }

    @Test func `what comes after a ticket is seen as well`() async throws {
        let origin = try await TalkativeOrigin(.tls13, then: .ticketAndSend(Self.unasked))
        let session = origin.session()
        #expect(try await Self.body(session, origin.url("/first")) == "/first")
        try await origin.speak()
        #expect(try await Self.body(session, origin.url("/second")) == "/second")
        #expect(origin.connections == 2)
    }

    @Test func `a stream that can be sent once is sent, although its first connection cannot be used`() async throws {
        let origin = try await TalkativeOrigin(.plain, then: .send(Self.unasked))
        let session = origin.session()
        #expect(try await Self.body(session, origin.url("/first")) == "/first")
        try await origin.speak()
        let pipe = BodyPipe()
        try await pipe.write(Array("content".utf8))
        pipe.finish()
        let task = session.dataTask(
            with: Request(url: try URLRecord(origin.url("/second")), method: .post, body: .stream(length: 7, pipe)))
        #expect(try await task.response(bufferingUpTo: 100).status.code == 200)
        let transactions = task.metrics.transactions
        #expect(transactions.count == 1 && transactions.first?.isReusedConnection == false)
    }

    @Test func `an FTP server that says goodbye between two files is logged in to again`() async throws {
        let (data, mayLeave) = (try WireOrigin { try $0.send("hello") }, Gate())
        let said = Progress()
        let origin = try WireOrigin { connection in
            try connection.send("220 ready\r\n")
            while true {
                switch try connection.receiveLine().prefix(4) {
                case "USER": try connection.send("230 in\r\n")
                case "PWD": try connection.send("257 \"/\"\r\n")
                case "EPSV": try connection.send("229 here (|||\(data.port)|)\r\n")
                case "SIZE": try connection.send("213 5\r\n")
                case "RETR":
                    try connection.send("150 now\r\n226 done\r\n")
                    try mayLeave.wait()
                    try connection.send("421 goodbye\r\n")
                    said.add(1)
                default: try connection.send("200 fine\r\n")
                }
            }
        }
        var configuration = SessionConfiguration()
        configuration.networkSchemes.insert("ftp")
        let session = Session(configuration: configuration)
        let url = "ftp://127.0.0.1:\(origin.port)/file"
        #expect(try await Self.body(session, url) == "hello")
        mayLeave.open()
        try await until { said.value == 1 }
        #expect(try await Self.body(session, url) == "hello")
        #expect(origin.connections.count == 2)
    }
}

/// An origin that answers each request with its path, and says more after the first one's answer.
struct TalkativeOrigin {
    enum Way: CaseIterable { case plain, tls12, tls13, proxy, tunnel, socks, secureProxy }
    enum More { case nothing, send(String), sendAtOnce(String), ticket, ticketAndSend(String) }

    private let script: Script
    private let origin: WireOrigin
    private let authority: TestAuthority?
    private let squid: LoopbackServer?

    init(_ way: Way, then more: More) async throws {
        let authority = way.isSecure ? try await TestAuthority() : nil
        let script = Script(way: way, more: more, leaf: try await authority?.issue("server"))
        squid =
            if way == .secureProxy, let authority {
                try await LoopbackServer.squid(certificate: try await authority.issue("proxy"))
            } else { nil }
        origin = try WireOrigin { try script.serve($0) }
        (self.authority, self.script) = (authority, script)
    }

    var requests: [String] { script.paths.withLock { $0 } }
    var connections: Int { origin.connections.count }
    func url(_ path: String) -> String { "\(script.way.isSecure ? "https" : "http")://localhost:\(origin.port)\(path)" }

    /// Lets it send bytes that nobody asked for, and waits until they have come as far as the client's side.
    func speak() async throws {
        let before = unreadBytes
        script.maySpeak.open()
        try await until { script.spoken.value == 1 }
        // Bytes that the proxy has not passed on yet would come after the next request, as its response would.
        if squid != nil { try await until { unreadBytes.map { $0 > before ?? 0 } ?? true } }
    }

    /// How many bytes have come from the proxy that nobody has read, as the system says; nil when no connection to it
    /// is open any more.
    private var unreadBytes: Int? {
        let remote = ":" + String(squid?.port ?? 0, radix: 16, uppercase: true)
        var sum: Int?
        for name in ["tcp", "tcp6"] {
            let table = (try? String(contentsOfFile: "/proc/net/\(name)", encoding: .utf8)) ?? ""
            for row in table.split(separator: "\n") {
                let columns = row.split(separator: " ")
                guard columns.count > 4, columns[2].hasSuffix(remote), columns[3] == "01" else { continue }
                sum = (sum ?? 0) + (Int(columns[4].suffix(8), radix: 16) ?? 0)
            }
        }
        return sum
    }

    func session() -> Session {
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http1
        if let authority { configuration.tls.anchors = .pem(authority.certificate) }
        let proxy = { (kind: Proxy.Kind) in
            Proxy(kind, host: "localhost", port: kind == .https ? squid!.port : origin.port)!
        }
        switch script.way {
        case .plain, .tls12, .tls13: break
        case .proxy: configuration.proxies = .init(http: proxy(.http))
        case .tunnel: configuration.proxies = .init(https: proxy(.http))
        case .socks: configuration.proxies = .init(http: proxy(.socks5))
        case .secureProxy: configuration.proxies = .init(https: proxy(.https))
        }
        return Session(configuration: configuration)
    }
}

/// The script of a talkative origin for each connection.
final class Script: Sendable {
    let way: TalkativeOrigin.Way
    let maySpeak = Gate()
    let spoken = Progress()
    let paths = Mutex<[String]>([])
    private let more: TalkativeOrigin.More
    private let leaf: TestAuthority.Leaf?

    init(way: TalkativeOrigin.Way, more: TalkativeOrigin.More, leaf: TestAuthority.Leaf?) {
        (self.way, self.more, self.leaf) = (way, more, leaf)
    }

    func serve(_ connection: WireConnection) throws {
        switch way {
        case .tunnel:
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
        case .socks: try acceptSOCKS(connection)
        default: break
        }
        guard let leaf else {
            return try converse(connection.receiveHead, { try connection.receive($0) }, connection.send) {}
        }
        let wire = try TLSWire(connection, leaf, way == .tls12 ? .tls12 : .tls13)
        try converse(wire.receiveHead, wire.receive, wire.send, wire.sendTicket)
    }

    private func acceptSOCKS(_ connection: WireConnection) throws {
        try connection.receive(Int(try connection.receive(2)[1]))
        try connection.send([5, 0])
        switch try connection.receive(4)[3] {
        case 1: try connection.receive(4 + 2)
        case 4: try connection.receive(16 + 2)
        default: try connection.receive(Int(try connection.receive(1)[0]) + 2)
        }
        try connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    }

    private func converse(
        _ receiveHead: () throws -> String?, _ receive: (Int) throws -> Void, _ send: (String) throws -> Void,
        _ sendTicket: () throws -> Void
    ) throws {
        while let head = try receiveHead() {
            if let length = head.firstMatch(of: /Content-Length: (\d+)/) { try receive(Int(length.output.1)!) }
            let path = String(head.firstMatch(of: /\ (?:http:\/\/[^\/]*)?(\/\S*) HTTP/)!.output.1)
            let count = paths.withLock { paths in
                paths.append(path)
                return paths.count
            }
            try send("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n")
            if count == 1, case .sendAtOnce(let bytes) = more {
                try send(path + bytes)
            } else {
                try send(path)
                if count == 1 { try speak(send, sendTicket) }
            }
        }
    }

    private func speak(_ send: (String) throws -> Void, _ sendTicket: () throws -> Void) throws {
        if case .nothing = more { return }
        try maySpeak.wait()
        switch more {
        case .nothing, .sendAtOnce: break
        case .send(let bytes): try send(bytes)
        case .ticket: try sendTicket()
        case .ticketAndSend(let bytes):
            try sendTicket()
            try send(bytes)
        }
        spoken.add(1)
    }
}

extension TalkativeOrigin.Way {
    fileprivate var isSecure: Bool {
        switch self {
        case .plain, .proxy, .socks: false
        case .tls12, .tls13, .tunnel, .secureProxy: true
        }
    }
}

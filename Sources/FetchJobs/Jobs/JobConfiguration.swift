/// How a job is to be loaded: the members it sets itself; what it leaves out comes from the session's defaults.
package struct JobConfiguration: Sendable, Equatable {
    package var redirects = Redirects()
    package var timeouts = Timeouts()
    package var connections = Connections()
    package var response = Response()

    package init() {}

    package struct Redirects: Sendable, Equatable {
        /// What to do with a redirect response: go on, hand it out as the response, or fail.
        package enum Policy: String, Sendable, CaseIterable {
            case follow
            case `return`
            case fail
        }

        package var policy: Policy?
        package var maximum: Int?
        package var allowHTTPSToHTTP: Bool?
        package var preserveMethod: Bool?
        package var allowedHosts: [String]?
    }

    /// In seconds.
    package struct Timeouts: Sendable, Equatable {
        package var timeoutIntervalForRequest: Double?
        package var timeoutIntervalForResource: Double?
        package var connect: Double?
    }

    package struct Connections: Sendable, Equatable {
        package enum HTTPVersion: String, Sendable, CaseIterable {
            case http1 = "1.1"
            case http2 = "2"
        }

        package var maximumPerHost: Int?
        package var httpVersion: HTTPVersion?
    }

    package struct Response: Sendable, Equatable {
        package var maximumBytes: Int64?
    }
}

extension JobConfiguration {
    /// A duration a client may ask for: from a millisecond to a week.
    private static let seconds: ClosedRange<Double> = 0.001...604_800

    init(reader: JSONReader) {
        guard let object = reader.object(of: ["redirects", "timeouts", "connections", "response"]) else { return }
        if let group = object["redirects"] { redirects = Redirects(reader: group) }
        if let group = object["timeouts"]?
            .object(of: ["timeoutIntervalForRequest", "timeoutIntervalForResource", "connect"])
        {
            timeouts.timeoutIntervalForRequest = group["timeoutIntervalForRequest"]?.number(in: Self.seconds)
            timeouts.timeoutIntervalForResource = group["timeoutIntervalForResource"]?.number(in: Self.seconds)
            timeouts.connect = group["connect"]?.number(in: Self.seconds)
        }
        if let group = object["connections"]?.object(of: ["maximumPerHost", "httpVersion"]) {
            connections.maximumPerHost = group["maximumPerHost"]?.integer(in: 1...10_000).map { Int($0) }
            connections.httpVersion = group["httpVersion"]?.oneOf(Connections.HTTPVersion.self)
        }
        if let group = object["response"]?.object(of: ["maximumBytes"]) {
            response.maximumBytes = group["maximumBytes"]?.integer(in: 0...(1 << 50))
        }
    }

    func write(_ writer: inout JSONWriter) {
        if redirects != Redirects() { writer.member("redirects", object: redirects.write) }
        if timeouts != Timeouts() {
            writer.member(
                "timeouts",
                object: { writer in
                    writer.member("timeoutIntervalForRequest", timeouts.timeoutIntervalForRequest)
                    writer.member("timeoutIntervalForResource", timeouts.timeoutIntervalForResource)
                    writer.member("connect", timeouts.connect)
                }
            )
        }
        if connections != Connections() {
            writer.member(
                "connections",
                object: { writer in
                    writer.member("maximumPerHost", connections.maximumPerHost)
                    writer.member("httpVersion", connections.httpVersion?.rawValue)
                }
            )
        }
        if response != Response() {
            writer.member("response", object: { $0.member("maximumBytes", response.maximumBytes) })
        }
    }
}

extension JobConfiguration.Redirects {
    fileprivate init(reader: JSONReader) {
        let names: Set = ["policy", "maximum", "allowHTTPSToHTTP", "preserveMethod", "allowedHosts"]
        guard let group = reader.object(of: names) else { return }
        policy = group["policy"]?.oneOf(Policy.self)
        maximum = group["maximum"]?.integer(in: 0...100).map { Int($0) }
        allowHTTPSToHTTP = group["allowHTTPSToHTTP"]?.bool()
        preserveMethod = group["preserveMethod"]?.bool()
        allowedHosts = group["allowedHosts"]?.array(maximum: 100)?.compactMap { $0.string(maximumLength: 253) }
    }

    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("policy", policy?.rawValue)
        writer.member("maximum", maximum)
        writer.member("allowHTTPSToHTTP", allowHTTPSToHTTP)
        writer.member("preserveMethod", preserveMethod)
        if let allowedHosts {
            writer.member("allowedHosts", array: { writer in allowedHosts.forEach { writer.value($0) } })
        }
    }
}

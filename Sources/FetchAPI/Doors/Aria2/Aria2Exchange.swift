import FetchJobs
import HTTPTypes

/// How calls are written.
enum Aria2Form: Sendable {
    case json
    case xml
}

/// The calls of one request, which are answered one after the other.
///
/// Each is admitted as a request of its own: its tenant's rate, its scope and its work are looked at for every call. One
/// request speaks with one key, so that nobody has many tried at the price of one.
struct Aria2Exchange {
    /// In a batch, and in one multicall.
    static let maximumCalls = 100
    /// How many bytes the name of a method may have; none of ours has as many.
    static let maximumName = 64
    /// How many bytes all answers to one request may have.
    private static let maximumAnswer = 16 << 20
    /// In XML they are several times as long.
    private static let maximumAnswerOfXML = 4 << 20
    /// What each answer needs besides its text.
    private static let answerOverhead = 64

    let call: Call
    let responder: Responder
    let methods: Aria2Methods
    let form: Aria2Form
    private var room: Int
    private var calls = 0
    /// The key that was shown first, or why it is none.
    private var shown: (text: String?, key: Result<APIKey, Problem>)?
    /// The key of a call that was let in.
    private(set) var admitted: APIKey?

    init(call: Call, responder: Responder, methods: Aria2Methods, in form: Aria2Form = .json) {
        self.call = call
        self.responder = responder
        self.methods = methods
        self.form = form
        room = form == .xml ? Self.maximumAnswerOfXML : Self.maximumAnswer
    }

    mutating func answer(_ item: Aria2Request.Item) async -> Aria2Answer {
        switch item.call {
        case .failure(let failure): return Aria2Answer(id: item.id, result: .failure(failure))
        case .success(let (name, parameters)):
            return Aria2Answer(id: item.id, result: await answerAny(name, parameters))
        }
    }

    /// The result of a call, which may be several.
    mutating func answerAny(_ name: String, _ parameters: [JSONValue]) async -> Result<RawJSON, Aria2Failure> {
        // Before it is compared with anything, which a long run of combining marks would make slow.
        guard name.utf8.count <= Self.maximumName else { return .failure(.methodNameTooLong) }
        return name == "system.multicall" ? await all(parameters) : await answer(name, parameters)
    }

    /// The results of several calls, each in a list of its own, and errors as they are.
    private mutating func all(_ parameters: [JSONValue]) async -> Result<RawJSON, Aria2Failure> {
        guard let list = parameters.first else { return .failure(.missing(0)) }
        guard case .array(let calls) = list else { return .failure(.wrongType(0)) }
        guard calls.count <= Self.maximumCalls else { return .failure(.tooManyCalls) }
        var results: [Result<RawJSON, Aria2Failure>] = []
        for call in calls { results.append(await one(call)) }
        return .success(
            .array { writer in
                for result in results {
                    switch result {
                    case .success(let value): writer.array { $0.raw(value) }
                    case .failure(let failure): writer.object { failure.write(&$0, in: form) }
                    }
                }
            })
    }

    private mutating func one(_ call: JSONValue) async -> Result<RawJSON, Aria2Failure> {
        guard case .object(let members) = call else { return .failure(.noStruct) }
        guard let name = members["methodName"]?.text else { return .failure(.noMethodName) }
        guard name.utf8.count <= Self.maximumName else { return .failure(.methodNameTooLong) }
        guard name != "system.multicall" else { return .failure(.recursion) }
        return await answer(name, members["params"]?.elements ?? [])
    }

    private mutating func answer(_ name: String, _ parameters: [JSONValue]) async -> Result<RawJSON, Aria2Failure> {
        calls += 1
        guard calls <= Self.maximumCalls else { return .failure(.tooManyCalls) }
        guard room > 0 else { return .failure(.answerTooLong) }
        let result = await result(name, parameters)
        if case .success(let value) = result {
            room -= value.bytes.count + Self.answerOverhead
            guard room >= 0 else { return .failure(.answerTooLong) }
        }
        return result
    }

    private mutating func result(_ name: String, _ parameters: [JSONValue]) async -> Result<RawJSON, Aria2Failure> {
        let method = Aria2Method(rawValue: name)
        if let method, let answer = method.openAnswer { return .success(answer) }
        var rest = parameters[...]
        var token: String?
        if let text = rest.first?.text, text.utf8.starts(with: "token:".utf8) {
            token = String(Substring(text.utf8.dropFirst(6)))
            rest.removeFirst()
        }
        var known = Responder.Known()
        do {
            let key = try await key(token)
            let (call, actor) = try await responder.admit(
                call, with: key, asking: method?.access ?? .aria2, taking: method?.work, &known)
            admitted = key
            guard let method else { return .failure(.noMethod(name)) }
            let caller = Aria2Caller(key: key, call: call, room: room)
            let arguments = Aria2Arguments(Array(rest))
            return .success(
                try await AuditActor.$current.withValue(actor) { try await methods.run(method, arguments, caller) })
        } catch let failure as Aria2Failure {
            return .failure(failure)
        } catch {
            // The names of methods are ours.
            let problem = responder.problem(for: error, in: call, named: method?.rawValue ?? Aria2Door.path, known)
            return .failure(Aria2Failure(problem))
        }
    }

    private mutating func key(_ token: String?) async throws -> APIKey {
        // There a secret is neither wanted nor looked at.
        if let openDoor = responder.openDoor { return try await openDoor.key() }
        if let shown {
            guard shown.text.map({ Array($0.utf8) }) == token.map({ Array($0.utf8) }) else {
                throw Authenticator.unauthorized
            }
            return try shown.key.get()
        }
        // Without any the request has shown none yet.
        guard token != nil || call.headers[.authorization] != nil else { throw Authenticator.unauthorized }
        do {
            let key = try await responder.authenticator.key(of: token, or: call)
            shown = (token, .success(key))
            return key
        } catch let problem as Problem {
            shown = (token, .failure(problem))
            throw problem
        }
    }
}

/// Who makes a call, and how long its answer may be.
struct Aria2Caller: Sendable {
    let key: APIKey
    let call: Call
    let room: Int

    var tenant: Tenant.ID { key.tenant }
}

extension Access {
    /// Of a call that asks for nothing that there is.
    static let aria2 = Access(scope: .readJobs, reach: .own)
}

extension Authenticator {
    /// The key of a token that stands in a call, or else that of the request.
    fileprivate func key(of token: String?, or call: Call) async throws -> APIKey {
        guard let token else { return try await key(of: call) }
        return try await key(of: token, from: call)
    }
}

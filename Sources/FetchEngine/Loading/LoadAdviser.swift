import EventLoop
package import HTTPTypes
import Synchronization

/// Decides the choices of loads, before their delegates are asked.
///
/// A load asks about the kinds that it names and about no others, and asks on its loop: an answer that is known at once
/// costs a call. A load without an adviser is spared all of it. A choice that breaks a limit of the configuration is
/// not asked about, and an answer that breaks one ends the load.
package protocol LoadAdviser: Sendable {
    /// The kinds of questions that it answers; read once, when the load begins.
    var kinds: LoadQuestion.Kinds { get }

    /// The answer that is known at once; nil when ``decide(_:of:)`` has to find it.
    ///
    /// Called on the loop, which it must not hold up.
    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer?

    /// The answer, whenever it is known; not waited for any more once the load is cancelled.
    ///
    /// Runs on the loop but for what it waits for.
    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer
}

/// A choice that a load comes to.
package enum LoadQuestion: Sendable {
    /// Which choices an adviser wants to make.
    package struct Kinds: OptionSet, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let redirection = Self(rawValue: 1)
        package static let canonicalization = Self(rawValue: 2)
        /// Challenges but for those about connections.
        package static let challenge = Self(rawValue: 4)
        /// Servers that want a certificate, which costs connections of their own.
        package static let clientCertificate = Self(rawValue: 8)
        /// Chains that are not trusted, which costs connections of their own.
        package static let serverTrust = Self(rawValue: 16)
        /// Chains that are trusted as well; goes with `serverTrust`.
        package static let trustedServers = Self(rawValue: 32)
        package static let response = Self(rawValue: 64)
        package static let bodyStream = Self(rawValue: 128)
        package static let caching = Self(rawValue: 256)
    }

    /// A server redirects.
    ///
    /// - hop: The number of the redirect, from 1.
    case redirection(Response, of: Request, proposed: Request, hop: Int)
    /// The URL was put into another form.
    ///
    /// - isStrict: Its host must be reached by https alone.
    case canonicalization(of: Request, proposed: Request, isStrict: Bool)
    case challenge(Challenge)
    /// The final head has come.
    case response(Response)
    /// A body that is a stream has to be sent.
    case bodyStream(Request)
    /// A response has come whole that may be stored.
    case caching(Response, bodyBytes: Int64, CachedResponse.StoragePolicy)
}

/// The answer of an adviser to a question.
package enum LoadAnswer: Sendable {
    /// The delegates, and then the configuration, decide.
    case performDefaultHandling
    case redirect(RedirectDisposition)
    case challenge(Challenge.Disposition)
    case response(ResponseDisposition)
    /// The body in place of the stream; nil when there is none, which ends the load.
    case body(RequestBody?)
    case caching(CachingAnswer)
}

/// The parts of a response that are stored.
package enum CachingAnswer: Sendable {
    case doNotStore
    /// - Parameters:
    ///   - userInfo: In place of the configuration's.
    ///   - policy: In place of the proposed one, and no laxer.
    ///   - data: In place of the response's body.
    case store(userInfo: [String: String]?, policy: CachedResponse.StoragePolicy?, data: [UInt8]?)
}

/// The context of a question for the adviser of a load.
///
/// An object, so that the frames of loads that are held have a reference.
package final class LoadContext: Sendable {
    /// The request of the hop at hand.
    package let currentRequest: Request
    /// The last redirect or challenge; nil before the first.
    package let lastStep: LoadStep?
    /// Whether the body goes to a file already.
    package let isDownload: Bool
    /// The time that is left for the resource, which stands still while the load asks; nil for any.
    let timeLeft: Duration?
    let load: Load

    init(of load: Load, timeLeft: Duration?) {
        self.load = load
        self.timeLeft = timeLeft
        currentRequest = load.currentRequest
        lastStep = load.record.withLock { $0.steps.last(where: \.isDecision) }
        isDownload = load.client?.kind == .download
    }

    /// How the load behaves.
    package var configuration: SessionConfiguration { load.configuration }

    /// The position of the load at its question; nil where another load cannot go on from there, at this time at least.
    package func position(at question: LoadQuestion) async -> LoadPosition? {
        var position = await load.position(at: question)
        position?.timeLeft = timeLeft.map { max(.milliseconds(1), $0) }
        return position
    }
}

extension Load {
    /// The answer of the adviser to a question, if it answers the kind.
    func advice(
        on kind: LoadQuestion.Kinds, on loop: isolated TransferLoop, _ question: () -> LoadQuestion
    ) async throws(LoadError) -> LoadAnswer {
        guard advised.contains(kind), let adviser else { return .performDefaultHandling }
        let question = question()
        let (asked, end) = (MonotonicTime.now, deadline)
        let context = LoadContext(of: self, timeLeft: end.map { .nanoseconds($0.nanoseconds(since: asked)) })
        if let answer = adviser.answer(to: question, in: context) { return answer }
        if let exchange, exchange.response != nil, kind == .redirection || kind == .challenge {
            // It may be left at a response that is whole.
            await awaitHead(of: exchange, bufferingUpTo: LoadPosition.maximumBodyBytes, on: loop)
            try checkCancellation()
        }
        // The time of the resource stands still while somebody is asked (DLG-6).
        deadline = nil
        defer {
            deadline = end?.advanced(by: .nanoseconds(MonotonicTime.now.nanoseconds(since: asked)))
            exchange?.deadlineChanged()
        }
        return try await answer(on: loop, apart: false) { await adviser.decide(question, in: context) }
    }
}

extension SessionConfiguration {
    /// The request that a redirect with some status would propose.
    package func proposal(for request: Request, to target: URLRecord, status: HTTPResponse.Status) -> Request {
        RedirectMachine.next(
            request, to: target, status: status, preserving: redirects.preserveMethod,
            trusting: redirects.forwardsCredentials(
                from: request.url.scheme, to: target.host ?? "", by: target.scheme))
    }

    /// A request that is made in place of one that a redirect proposes, with https where its host wants that.
    ///
    /// - Parameter base: The URL that is left.
    /// - Throws: The error of a redirect by the server to the same URL (SEC-30).
    func checked(_ request: Request, from base: URLRecord) throws(LoadError) -> Request {
        let machine = RedirectMachine(configuration: redirects)
        return try machine.checked(request, from: base, by: TargetGuard(policy: targetPolicy)) {
            strictTransport?.secured($0) ?? $0
        }
    }

    /// Why a request must not be made in place of one that a redirect proposes; nil when it may be.
    ///
    /// - Parameter base: The URL that is left.
    package func refusal(of request: Request, inPlaceOfRedirectFrom base: URLRecord) -> LoadError? {
        do throws(LoadError) { _ = try checked(request, from: base) } catch { return error }
        return nil
    }
}

/// The answer to a redirect.
public enum RedirectDisposition: Sendable {
    /// Do as the configuration says.
    case performDefaultHandling
    /// Make this request: the proposed one or another.
    case follow(Request)
    /// Do not follow: the redirect response is the result, with its body.
    case returnResponse
    /// End the load with `cancelled`.
    case cancel
}

/// The answer to a response.
public enum ResponseDisposition: Sendable {
    /// Go on.
    case allow
    /// End the load with `cancelled`.
    case cancel
    /// Go on as a download: the body goes to a file.
    ///
    /// The caller that awaits the response gets it without its body, and goes on with
    /// ``DataTask/becomeDownload(options:)``.
    case becomeDownload
}

/// The answer for a request whose begin date has come.
public enum DelayedRequestDisposition: Sendable {
    /// Load the request as it is.
    case continueLoading
    /// Load this one instead.
    case useNewRequest(Request)
    /// End the load with `cancelled`.
    case cancel
}

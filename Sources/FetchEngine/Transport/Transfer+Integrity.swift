import HTTPTypes

// Holds content against the digests that its server states.
extension Transfer {
    /// Prepares to check a body.
    ///
    /// Not for one whose coding is undone here: servers disagree on which of its forms they mean.
    func prepareCheck(of head: HeadCollector.Head) {
        let status = head.status.code
        guard shared.value.verifiesContentDigests, decoder == nil, request.method != .head, status != 304,
            !ExchangeLimits.mayBeRepeated(status)
        else { return }
        contentCheck = ContentCheck(head.fields, isPart: status == 206)
    }

    /// Fails content that is complete and does not have the stated digest.
    func checkContent() {
        guard failure == nil, let contentCheck, !contentCheck.isMet(by: trailers) else { return }
        failure = ExpectedDigest.mismatch
    }
}

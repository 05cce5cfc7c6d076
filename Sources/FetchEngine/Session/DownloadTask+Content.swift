import HTTPTypes

extension DownloadTask {
    /// Whether the content came in a coding that has been undone, so that its bytes are not the server's.
    ///
    /// The cache keeps bodies without their coding.
    var isContentDecoded: Bool {
        guard let exchange = load.exchange else { return false }
        guard let transfer = exchange as? Transfer else { return exchange.response?.contentCoding.isEmpty == false }
        return transfer.decoder != nil
    }

    /// What the server says that the file is, where the transfer does not look at that itself: of a whole that it sent
    /// a part of, and of what it did not bring.
    func statedDigest(of response: Response) -> ExpectedDigest? {
        guard shared.value.verifiesContentDigests, !isContentDecoded else { return nil }
        return load.exchange is Transfer && response.status.code != 206 ? nil : response.expectedDigest
    }
}

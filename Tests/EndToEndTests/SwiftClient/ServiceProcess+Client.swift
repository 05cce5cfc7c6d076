import FetchdClient

extension ServiceProcess {
    /// The Swift client of this service.
    var client: FetchdService { FetchdService(url: base, key: APIKey(key)) }
}

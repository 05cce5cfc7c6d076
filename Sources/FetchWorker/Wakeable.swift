/// Can be told that there is something to do.
package protocol Wakeable: Sendable {
    func wake()
}

// Finds uploads whose content the server, or a proxy before it, refuses while it takes others.
extension UploadMachine {
    /// Describes a temporary failure of an upload.
    ///
    /// The failure is the upload's own if the server took a request of the same kind for another upload since this one
    /// failed before, or since the request began; and again, if the answer is the same. It closes no gate then. A failed
    /// probe counts for all, so that a server in trouble gets one request a pause, unless the answer is known or others
    /// were taken meanwhile.
    func setback(
        _ error: FileError, _ failure: RemoteFailure, of key: ContentKey, _ request: Request
    ) -> Upload.Setback {
        let earlier = uploads[key]?.setback
        var setback = Upload.Setback(
            kind: request.kind, begun: request.begun, at: handledAt, fragment: request.fragment,
            isRefusal: failure.mayBeAboutContent, isLasting: failure.outlook == .lasting,
            ownFailure: earlier?.ownFailure)
        guard setback.isRefusal || failure.outlook?.isAbsence == true && !request.wasProbe else { return setback }
        let since = (request.wasProbe ? nil : earlier?.at) ?? (setback.isRefusal ? request.begun : nil)
        let known = Upload.OwnFailure(kind: request.kind, code: error.code)
        setback.isOwn =
            setback.ownFailure == known || since.map { gates.hasPassed(request.kind, besides: key, after: $0) } ?? false
        if setback.isOwn { setback.ownFailure = known }
        return setback
    }

    /// Reports an upload that the server refuses while it takes others, or that no upload is refused any more.
    mutating func reportRefusal() {
        if let reportedRefusal, isRefusedAlone(reportedRefusal) { return }
        refusals = refusals.filter { uploads[$0]?.setback?.isRefusal == true }
        let next = refusals.filter(isRefusedAlone).min()
        guard next != reportedRefusal else { return }
        reportedRefusal = next
        guard let next, let upload = uploads[next], let setback = upload.setback, let error = upload.error else {
            return actions.append(.refusal(nil))
        }
        uploads[next]?.setback?.isOwn = true
        uploads[next]?.setback?.ownFailure = .init(kind: setback.kind, code: error.code)
        let path = upload.waiters.keys.min().map { "\($0): " } ?? ""
        let message = path + error.message
        actions.append(.refusal(FileError(code: error.code, message: message, retryable: error.retryable)))
    }

    /// Whether somebody must look after an upload, and only this one.
    private func isRefusedAlone(_ key: ContentKey) -> Bool {
        guard let upload = uploads[key], let setback = upload.setback,
            setback.isOwn || gates.hasPassed(setback.kind, besides: key, after: setback.begun)
        else { return false }
        return setback.isLasting || upload.failures >= Self.patience
    }
}

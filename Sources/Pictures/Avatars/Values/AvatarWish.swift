import PictureJobs

/// A picture in a style.
struct AvatarWish: Hashable {
    var address: AvatarAddress
    var style: PictureStyle
}

// The lightness (CIE L*) of the page's colours at 17 even places, as seen with full colour vision
// and without one kind of cone: Machado, Oliveira and Fernandes (2009), severity 1, linear light.
import('/page/colours.js').then(({ scale }) => {
  const linear = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const visions = {
    full: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
      [-0.003882, -0.048116, 1.051998]],
    deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881]],
    tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
      [0.004733, 0.691367, 0.3039]],
  };
  const lightness = (matrix, rgb) => {
    const light = rgb.map((part) => linear(part / 255));
    const seen = matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * light[i], 0));
    const y = seen.map((part) => Math.min(1, Math.max(0, part)))
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y;
  };
  const places = Array.from({ length: 17 }, (_, i) => i / 16);
  return Object.fromEntries(Object.entries(visions).map(([name, matrix]) =>
    [name, places.map((place) => lightness(matrix, scale(place)))]));
})

// The texts in the document with less contrast to their background than WCAG 2.2 requires for level
// AA (1.4.3): a ratio of luminances of 4.5. One line each: the ratio, the element, its text.
(() => {
  const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (parts) => parts.slice(0, 3)
    .map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE)
      .map((child) => child.data.trim()).join('');
    if (!text || !element.checkVisibility() || element.matches('option, noscript')) continue;
    const svg = element instanceof SVGElement;
    const style = getComputedStyle(element);
    const [a, b] = [rgba(svg ? style.fill : style.color), ground(element)].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${element.tagName} ${text.slice(0, 40)}`);
  }
  return faint.join('\n');
})()
